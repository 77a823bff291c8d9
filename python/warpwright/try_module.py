# SPDX-License-Identifier: Apache-2.0
"""Tries a winner's module.py as its user would: in a fresh Python, beside the reference, weights copied by state_dict.

    python -m warpwright.try_module < request.json

The request holds `folder` (of module.py), `filename` and `source` of the reference, `contract`, and `workloads` (list of
`name`, `set`). Prints one JSON object: `problems`, a list of text, empty where every workload agrees. It asks whether the
module is wired up right (arguments, weights, shapes, nesting); how precise the kernel is, the judge has asked already.
"""

import gc
import importlib.util
import json
import os
import sys

# The collector runs hundreds of times while torch is imported: a third of that time.
gc.disable()
import torch  # noqa: E402

from warpwright.referee.refusal import Refusal, describe  # noqa: E402
from warpwright.referee.source import load_module  # noqa: E402

gc.enable()

_DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
# Largest error allowed, as a share of the output's RMS: a weight, an axis or an argument that is mixed up gives about 1,
# honest rounding of long sums stays far below (one unit in the last place is 1e-7, 1e-3, 8e-3).
_WIRING = {"fp32": 1e-2, "tf32": 3e-2, "fp16": 0.1, "bf16": 0.2}


def try_module(request):
    """One line a problem; empty where the module can stand in for the reference."""
    try:
        new_model = _load_winner(request["folder"])
    except Exception as error:  # noqa: BLE001: whatever importing it raises is the finding
        return [f"module.py cannot be imported: {describe(error)}"]
    problems = []
    for workload in request["workloads"]:
        try:
            problem = _try_workload(new_model, request, workload)
        except Refusal as refusal:
            problem = f"the reference is refused: {refusal.message}"
        except Exception as error:  # noqa: BLE001
            problem = describe(error)
        if problem:
            problems.append(f"workload {workload['name']}: {problem}")
    return problems


def _load_winner(folder):
    spec = importlib.util.spec_from_file_location("winner", os.path.join(folder, "module.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ModelNew


def _try_workload(new_model, request, workload):
    contract = request["contract"]
    dtype = _DTYPES[contract["precision"]]
    task = load_module(request["filename"], request["source"], workload["set"])
    init = task.get_init_inputs() if hasattr(task, "get_init_inputs") else []
    torch.manual_seed(1)
    reference = _prepare(_call(task.Model, init), contract, dtype)
    candidate = _prepare(_call(new_model, init), contract, dtype)
    _shake(reference)
    candidate.load_state_dict(reference.state_dict())
    bound = _WIRING[contract["precision"]]
    with torch.no_grad():
        for inputs in _draws(task, dtype):
            expected, got = _call(reference, inputs), _call(candidate, inputs)
            problem = _difference("out", expected, got, bound)
            if problem:
                return problem
    return _difference("state", dict(reference.state_dict()), dict(candidate.state_dict()), bound)


def _call(function, arguments):
    """Arguments are a dict of keywords, a list, or one value."""
    if isinstance(arguments, dict):
        return function(**arguments)
    return function(*arguments) if isinstance(arguments, (list, tuple)) else function(arguments)


def _prepare(model, contract, dtype):
    model = model.to(dtype)
    return model if contract["mode"] == "source" else model.train(contract["mode"] == "train")


def _shake(model):
    """Weights that are constants become different from each other, so that mixing them up shows."""
    with torch.no_grad():
        for value in model.state_dict().values():
            if value.is_floating_point():
                value.mul_(1 + 0.2 * torch.rand_like(value)).add_(0.05 * torch.rand_like(value))


def _draws(task, dtype):
    """As the task draws them, then a second draw whose matrices are not contiguous."""
    yield _cast(task.get_inputs(), dtype)
    yield _cast(_scatter(task.get_inputs()), dtype)


def _cast(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    return _map(value, lambda item: _cast(item, dtype))


def _scatter(value):
    if isinstance(value, torch.Tensor):
        return value.transpose(-1, -2).contiguous().transpose(-1, -2) if value.dim() >= 2 else value
    return _map(value, _scatter)


def _map(value, function):
    if isinstance(value, dict):
        return {key: function(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(function, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(function, value))
    return value


def _difference(name, expected, got, bound):
    """What is different, in a few words, or None."""
    if isinstance(expected, torch.Tensor):
        return _tensor_difference(name, expected, got, bound)
    if isinstance(expected, (list, tuple, dict)):
        if not isinstance(got, type(expected)) and not isinstance(got, tuple):
            return f"{name} is a {type(got).__name__}, expected a {type(expected).__name__}"
        if len(expected) != len(got):
            return f"{name} has {len(got)} parts, expected {len(expected)}"
        keys = expected.keys() if isinstance(expected, dict) else range(len(expected))
        for key in keys:
            problem = _difference(f"{name}.{key}", expected[key], got[key], bound)
            if problem:
                return problem
        return None
    if isinstance(expected, float):
        return _tensor_difference(name, torch.tensor(expected), torch.tensor(got), bound)
    return None if type(expected) is type(got) and (expected == got or expected is None) else (
        f"{name} is {got!r}, expected {expected!r}")


def _tensor_difference(name, expected, got, bound):
    if not isinstance(got, torch.Tensor) or got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{name} is {_kind(got)}, expected {_kind(expected)}"
    if expected.numel() == 0:
        return None
    if not expected.is_floating_point():
        wrong = (expected != got).sum().item()
        return f"{wrong} of {expected.numel()} elements of {name} differ" if wrong else None
    expected, got = expected.double(), got.double()
    scale = expected.square().mean().sqrt().clamp_min(1e-30)
    error = ((expected - got).abs() / scale).max().item()
    return None if error <= bound else f"{name} differs from the reference by {error:.3g} of its RMS"


def _kind(value):
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return f"a {type(value).__name__}"


if __name__ == "__main__":
    print(json.dumps({"problems": try_module(json.load(sys.stdin))}))
