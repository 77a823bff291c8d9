# SPDX-License-Identifier: Apache-2.0
"""Straw solutions: lazy answers that a task worth judging tells from right ones. Each gives outputs, or why not."""

import torch

from warpwright.referee import numerics

POISON = 0xA5
MANTISSA_BITS = {"tf32": 10, "bf16": 7, "fp8": 3}
STEPS_BELOW = {"fp32": ("tf32", "bf16"), "tf32": ("bf16",), "fp16": ("fp8",), "bf16": ("fp8",)}
SUBSET_PART = 16
OTHER_SEED = 0x5712A3


class Skip(Exception):
    """The straw does not apply here."""


def names(workload):
    found = ["zeros", "mean", "uninitialised", "previous"]
    if len(workload.output_specs) > 1:
        found.append("first_output_only")
    floating = [(i, leaf.name) for i, leaf in enumerate(workload.inputs) if _is_floating(workload.placed_inputs.tensors[i])]
    found += [f"echo:{name}" for _, name in floating]
    found += [f"precision:{step}" for step in STEPS_BELOW[workload.contract["precision"]]]
    for index, name in floating:
        shape = workload.placed_inputs.tensors[index].shape
        found += [f"subset:{name}:{axis}" for axis, size in enumerate(shape) if size >= SUBSET_PART]
    if any(rule is not None for rule in workload.rules):
        found.append("other_weights")
    return found


def make(workload, name):
    """The straw's outputs. Raises Skip. Requires: `expected` holds the reference's outputs for the present values."""
    kind, _, detail = name.partition(":")
    makers = {
        "zeros": lambda: [torch.zeros_like(view) for view in workload.expected],
        "mean": lambda: [_mean(view) for view in workload.expected],
        "uninitialised": lambda: [_poisoned(view) for view in workload.expected],
        "first_output_only": lambda: [
            view.clone() if index == 0 else torch.zeros_like(view) for index, view in enumerate(workload.expected)
        ],
        "echo": lambda: _echo(workload, detail),
        "precision": lambda: _rounded(workload, MANTISSA_BITS[detail]),
        "subset": lambda: _subset(workload, *detail.rsplit(":", 1)),
        "previous": lambda: _previous(workload),
        "other_weights": lambda: _other_weights(workload),
    }
    if kind not in makers:
        raise ValueError(f"unknown straw {name!r}")
    outputs = makers[kind]()
    if all(_same_bits(made, due) for made, due in zip(outputs, workload.expected, strict=True)):
        raise Skip("coincides with the reference")
    return outputs


def _is_floating(tensor):
    return tensor is not None and tensor.is_floating_point() and tensor.numel() > 0


def _same_bits(made, due):
    made = made.to(due.dtype).expand(due.shape).contiguous()
    return torch.equal(made.view(-1).view(torch.uint8), due.contiguous().view(-1).view(torch.uint8))


def _mean(view):
    if view.dtype == torch.bool or view.numel() == 0:
        return torch.zeros_like(view)
    return torch.full_like(view, view.double().mean().item())


def _poisoned(view):
    if view.dtype == torch.bool:
        return torch.ones_like(view)
    made = torch.empty_like(view)
    made.view(-1).view(torch.uint8).fill_(POISON)
    return made


def _index_of(workload, name):
    for index, leaf in enumerate(workload.inputs):
        if leaf.name == name:
            return index
    raise ValueError(f"no input {name!r}")


def _echo(workload, name):
    source = workload.placed_inputs.tensors[_index_of(workload, name)]
    return [_fitted(source, view) for view in workload.expected]


def _fitted(source, view):
    if source.numel() == view.numel():
        return source.reshape(view.shape).to(view.dtype)
    for shape in (source.shape, (*source.shape, *[1] * max(0, view.dim() - source.dim()))):
        try:
            return source.reshape(shape).expand(view.shape).to(view.dtype)
        except RuntimeError:
            continue
    raise Skip("no shape of this input fits the outputs")


def _run(workload, tensors):
    """forward on other input tensors, weights as they are now."""
    try:
        result = workload.run(workload.nested_arguments(workload.inputs, tensors))
        return [tensor.clone() for tensor in workload.outputs(result)]
    finally:
        workload.settle()


def _round_mantissa(flat, bits):
    """Rounds to nearest even at `bits` of mantissa, in place. Infinities and NaN stay."""
    values = flat.float()
    drop = 23 - bits
    raw = values.view(torch.int32)
    odd = (raw >> drop) & 1
    rounded = ((raw + (1 << (drop - 1)) - 1 + odd) >> drop) << drop
    flat.copy_(torch.where(values.isfinite(), rounded.view(torch.float32), values))


def _rounded(workload, bits):
    inputs = workload.placed_inputs.cast(workload.dtype)
    kept = workload.placed_weights.cast(workload.dtype)
    for group in inputs.groups + workload.placed_weights.groups:
        if group.flat.is_floating_point():
            _round_mantissa(group.flat, bits)
    try:
        return _run(workload, inputs.tensors)
    finally:
        workload.placed_weights.refresh(kept)


def _subset(workload, name, axis):
    inputs = workload.placed_inputs.cast(workload.dtype)
    tensor = inputs.tensors[_index_of(workload, name)]
    size = tensor.shape[int(axis)]
    tensor.narrow(int(axis), size - size // SUBSET_PART, size // SUBSET_PART).zero_()
    return _run(workload, inputs.tensors)


def _previous(workload):
    inputs = workload.place_inputs(workload.draw_source(OTHER_SEED))
    if not inputs.same_structure(workload.placed_inputs):
        raise Skip("another draw has other shapes")
    return _run(workload, inputs.tensors)


def _other_weights(workload):
    kept = workload.placed_weights.cast(workload.dtype)
    workload.draw_weights(numerics.derived_seed("straw", OTHER_SEED))
    try:
        return _run(workload, workload.placed_inputs.tensors)
    finally:
        workload.settle()
        workload.placed_weights.refresh(kept)
        workload.placed_weights.publish()
        workload.snapshot(workload.touched)
