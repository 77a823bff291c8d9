# SPDX-License-Identifier: Apache-2.0
"""The slow questions before a task is admitted: does forward repeat itself and leave everything else alone?"""

import torch

from warpwright.referee import numerics, patterns
from warpwright.referee.refusal import Refusal, limit, task_fault

# Threads may add up in another order from run to run; more than this share of the output's RMS is no rounding.
ROUNDING_SHARE = 1e-4
FIRST_SEED, SECOND_SEED = 11, 12


def check(workload):
    _check_inputs_kept(workload)
    _check_undeclared_writes(workload)
    _check_repeats(workload)
    _check_shapes(workload)


def _check_inputs_kept(workload):
    # The run at load may have spoilt them already, behind torch's back.
    workload.take_inputs(workload.draw_source(FIRST_SEED))
    before = [group.flat.clone() for group in workload.placed_inputs.groups]
    workload.run()
    workload.settle()
    names = []
    for kept, group in zip(before, workload.placed_inputs.groups, strict=True):
        if not _equal(kept, group.flat):
            names += [workload.inputs[member.index].name for member in group.members]
    if names:
        raise task_fault(f"forward changes its inputs: {', '.join(dict.fromkeys(names))}")


def _check_undeclared_writes(workload):
    before = [item.tensor.detach().clone() for item in workload.weights]
    workload.run()
    written = list(workload.touched)
    for index, (kept, item) in enumerate(zip(before, workload.weights, strict=True)):
        current = item.current()
        if index not in written and (current.shape != kept.shape or not _equal(kept, current.detach())):
            written.append(index)
    replaced = [i for i in written if _is_replaced_attribute(workload.weights[i])]
    workload.settle()
    for index in replaced:
        workload.note(f"forward assigns {workload.weights[index].name} anew; it is put back before every call")
    undeclared = [workload.weights[i].name for i in written if i not in workload.mutated and i not in replaced]
    if undeclared:
        names = [workload.weights[i].name for i in workload.mutated] + undeclared
        listed = ", ".join(f'"{name}"' for name in names)
        raise task_fault(f"forward writes {', '.join(undeclared)}, which mutates does not name; "
                         f'set mode = "eval", or mutates = [{listed}]')


def _is_replaced_attribute(item):
    """Not a buffer: what old weight norms derive at every call, or a hidden state that a call leaves for the next."""
    return item.kind == "attribute" and item.current() is not item.tensor


def _check_repeats(workload):
    results = []
    for seed in (FIRST_SEED, SECOND_SEED, SECOND_SEED):
        numerics.seed_everything(seed)
        before = numerics.generator_states()
        result = workload.run()
        if numerics.generator_states() != before:
            raise limit("random_forward", "forward draws random numbers")
        results.append([tensor.clone() for tensor in workload.outputs(result)])
        workload.settle()
    for again in results[1:]:
        for spec, first, second in zip(workload.output_specs, results[0], again, strict=True):
            if not _equal(first, second) and not _close(first, second):
                raise task_fault(f"forward does not repeat itself: {spec['name']} differs between two calls on equal inputs")
            if not _equal(first, second):
                workload.note(f"{spec['name']} differs in rounding from call to call")


def _check_shapes(workload):
    """Other values must give outputs of the same shapes. The placement is left as it was."""
    kept = workload.placed_inputs.cast(workload.dtype)
    for seed in (FIRST_SEED, SECOND_SEED):
        leaves = workload.draw_source(seed)
        fresh = workload.place_inputs(leaves)
        if not fresh.same_structure(kept) or len(leaves) != len(workload.inputs):
            raise limit("varying_inputs", "get_inputs returns other shapes, types or strides under another seed")
        _note_varying_numbers(workload, leaves)
        _run_once(workload, workload.nested_arguments(leaves, fresh.tensors))
    patterns.apply_pattern(kept.groups, "equal", torch.Generator().manual_seed(FIRST_SEED))
    try:
        _run_once(workload, workload.nested_arguments(workload.inputs, kept.tensors))
    except Refusal as refusal:
        # Equal values may be outside what the task accepts; only a change of shape is held against it.
        if refusal.kind == "limit":
            raise


def _run_once(workload, arguments):
    try:
        workload.outputs(workload.run(arguments))
    finally:
        workload.settle()


def _note_varying_numbers(workload, leaves):
    for old, new in zip(workload.inputs, leaves, strict=True):
        if not isinstance(old.value, torch.Tensor) and old.value != new.value:
            workload.note(f"{old.name} is a number that varies with the seed; a captured graph holds one value of it")


def _equal(first, second):
    return torch.equal(first, second) or (
        first.is_floating_point() and torch.equal(first.nan_to_num(), second.nan_to_num())
        and torch.equal(first.isfinite(), second.isfinite())
    )


def _close(first, second):
    if not first.is_floating_point():
        return False
    scale = first.double().square().mean().sqrt()
    return bool((first.double() - second.double()).abs().max() <= ROUNDING_SHARE * scale)
