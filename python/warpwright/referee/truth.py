# SPDX-License-Identifier: Apache-2.0
"""The reference in double precision, where every operator has it."""

import copy

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from warpwright.referee.trees import as_tensor
from warpwright.referee.weights import named_tensors

_NARROW = {torch.float32, torch.float16, torch.bfloat16}


class Widen(TorchDispatchMode):
    """Casts and fresh tensors that name a narrower floating type get float64, so that an inner .float() loses nothing."""

    @classmethod
    def _should_skip_dynamo(cls):
        # torch would import all of torch._dynamo (0.8 s) to keep the compiler out of the method below; none runs here.
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        args = [torch.float64 if isinstance(a, torch.dtype) and a in _NARROW else a for a in args]
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in _NARROW:
            kwargs["dtype"] = torch.float64
        return function(*args, **kwargs)


class Truth:
    """A deep copy of the workload's module in double. Raises whatever the copy raises: then there is no truth."""

    def __init__(self, workload):
        self.workload = workload
        self.model = copy.deepcopy(workload.model)
        self.weights = named_tensors(self.model)
        self.placed_weights = workload.placed_weights.cast(torch.float64)
        self.placed_inputs = workload.placed_inputs.cast(torch.float64)

    def outputs(self):
        """Like Workload.outputs, floating ones in float64."""
        self.placed_weights.refresh(self.workload.placed_weights)
        self.placed_inputs.refresh(self.workload.placed_inputs)
        for item, tensor in zip(self.weights, self.placed_weights.tensors, strict=True):
            item.put_back()
            item.tensor.data = tensor
        positional, named = self.workload.nested_arguments(self.workload.inputs, self.placed_inputs.tensors)
        torch.set_default_dtype(torch.float64)
        try:
            with torch.no_grad(), Widen():
                result = self.model(*positional, **named)
        finally:
            torch.set_default_dtype(torch.float32)
        _, leaves = self.workload.flatten_result(result)
        tensors = [as_tensor(leaf.value) for leaf in leaves]
        tensors += [self.weights[i].current() for i in self.workload.mutated]
        due = [spec["shape"] for spec in self.workload.output_specs]
        if [list(tensor.shape) for tensor in tensors] != due:
            raise ValueError("the shapes differ in double precision")
        return [tensor.detach() for tensor in tensors]
