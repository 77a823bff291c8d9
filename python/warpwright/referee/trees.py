# SPDX-License-Identifier: Apache-2.0
"""Nested arguments and results as a flat list of named leaves, and back."""

import dataclasses
from collections import namedtuple
from collections.abc import Mapping

import torch

from warpwright.referee.refusal import limit, printable, task_fault

Leaf = namedtuple("Leaf", "name value")

DTYPES = {
    torch.float64: "float64", torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16",
    torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8", torch.uint8: "uint8",
    torch.bool: "bool",
}
SCALAR_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64}


class Node:
    """kind: tensor, scalar, none, constant, tuple, list, dict, namedtuple or dataclass."""

    def __init__(self, kind, python_type, index=None, value=None, keys=None, items=()):
        self.kind = kind
        self.python_type = python_type
        self.index = index
        self.value = value
        self.keys = keys
        self.items = list(items)

    def rebuild(self, values):
        """The nested value whose leaves are `values`, in flat order."""
        if self.kind in ("tensor", "scalar"):
            return values[self.index]
        if self.kind == "none":
            return None
        if self.kind == "constant":
            return self.value
        parts = [item.rebuild(values) for item in self.items]
        if self.kind == "dict":
            return dict(zip(self.keys, parts))
        if self.kind == "namedtuple":
            return self.python_type(*parts)
        if self.kind == "dataclass":
            return self.python_type(**dict(zip(self.keys, parts)))
        return self.python_type(parts)

    def to_json(self):
        json = {"kind": self.kind}
        if self.index is not None:
            json["index"] = self.index
        if self.kind == "scalar":
            json["type"] = self.python_type.__name__
        if self.kind == "constant":
            json["value"] = self.value if isinstance(self.value, str) else repr(self.value)
        if self.kind in ("namedtuple", "dataclass"):
            json["type"] = self.python_type.__name__
        if self.keys is not None:
            json["keys"] = [key if isinstance(key, (str, int)) else str(key) for key in self.keys]
        if self.kind in ("tuple", "list", "dict", "namedtuple", "dataclass"):
            json["items"] = [item.to_json() for item in self.items]
        return json


class Flattener:
    """Collects leaves. `none_is_leaf`: an argument that is None keeps its place in the list; a None in a result does not."""

    def __init__(self, none_is_leaf):
        self.none_is_leaf = none_is_leaf
        self.leaves = []

    def add(self, name, value):
        if isinstance(value, torch.Tensor):
            return Node("tensor", torch.Tensor, self._leaf(name, value))
        if type(value) in SCALAR_DTYPES:
            return Node("scalar", type(value), self._leaf(name, value))
        if value is None:
            return Node("none", type(None), self._leaf(name, None) if self.none_is_leaf else None)
        if isinstance(value, Mapping):
            return self._nest("dict", dict, name, list(value.keys()), list(value.values()))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._nest("namedtuple", type(value), name, list(value._fields), list(value))
        if isinstance(value, tuple):
            # torch's own result types (torch.return_types.max) cannot be made from a list: a tuple serves.
            return self._nest("tuple", tuple, name, None, list(value))
        if isinstance(value, list):
            return self._nest("list", list, name, None, value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            keys = [field.name for field in dataclasses.fields(value)]
            return self._nest("dataclass", type(value), name, keys, [getattr(value, key) for key in keys])
        if isinstance(value, (str, bytes, torch.dtype, torch.device)):
            return Node("constant", type(value), value=value)
        raise task_fault(f"{name} is a {type(value).__name__}, which is neither a tensor nor a number nor nests them")

    def _leaf(self, name, value):
        self.leaves.append(Leaf(name, value))
        return len(self.leaves) - 1

    def _nest(self, kind, python_type, name, keys, parts):
        labels = keys if keys is not None else range(len(parts))
        items = [self.add(printable(f"{name}.{label}" if name else str(label)), part) for label, part in zip(labels, parts)]
        return Node(kind, python_type, keys=keys, items=items)


def spec(name, value):
    """The JSON form of one leaf: tensor, number or None."""
    if value is None:
        return {"name": name, "dtype": "float32", "shape": [], "none": True}
    if not isinstance(value, torch.Tensor):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise limit("unsupported_dtype", f"{name} is an integer beyond 64 bits")
        return {"name": name, "dtype": DTYPES[SCALAR_DTYPES[type(value)]], "shape": [], "scalar": True}
    check_supported(name, value)
    return {"name": name, "dtype": DTYPES[value.dtype], "shape": list(value.shape)}


def check_supported(name, tensor):
    if tensor.device.type != "cpu":
        raise limit("unsupported_device", f"{name} is on device {tensor.device}, not on the CPU")
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise limit("unsupported_layout", f"{name} is not a dense strided tensor")
    if tensor.dtype not in DTYPES:
        raise limit("unsupported_dtype", f"{name} is {str(tensor.dtype).removeprefix('torch.')}")


def as_tensor(value):
    """A leaf as a tensor: numbers become 0-dimensional."""
    if isinstance(value, torch.Tensor):
        return value
    return torch.tensor(value, dtype=SCALAR_DTYPES[type(value)])
