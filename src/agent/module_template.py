# SPDX-License-Identifier: Apache-2.0
"""ModelNew: a drop-in replacement of the task's Model, made by warpwright.

Needs torch and the two files beside it: the built library, and reference.py, which gives constructor, parameters and
buffers (so a state_dict of Model loads as it is). Forward only, on the CPU, for the shapes that were judged.
"""

import contextlib
import ctypes
import dataclasses
import functools
import importlib.util
import inspect
import json
import os
import threading
from collections.abc import Mapping

import torch

_FACTS = json.loads(r"""@FACTS@""")
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_ALIGNMENT = 64  # of tensors, which is what torch's own allocations have; packed and workspace get 256
_OK, _UNSUPPORTED = 0, 1


def _load_reference():
    path = os.path.join(_FOLDER, "reference.py")
    spec = importlib.util.spec_from_file_location("_warpwright_reference_" + _FACTS["task"], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_reference = _load_reference()


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Tensors(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_int32),
        ("names", ctypes.POINTER(ctypes.c_char_p)),
        ("items", ctypes.POINTER(ctypes.POINTER(_DLTensor))),
    ]


class _Call(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("config", ctypes.c_int32),
        ("inputs", _Tensors),
        ("weights", _Tensors),
        ("outputs", _Tensors),
        ("init", _Tensors),
        ("packed", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
    ]


_KINDS = {  # DLPack's type code and bits
    "float64": (2, 64),
    "float32": (2, 32),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "int64": (0, 64),
    "int32": (0, 32),
    "int16": (0, 16),
    "int8": (0, 8),
    "uint8": (1, 8),
    "bool": (6, 8),
}
_SCALARS = {"int64": ctypes.c_int64, "float64": ctypes.c_double, "bool": ctypes.c_bool}


@functools.lru_cache(maxsize=None)
def _library():
    library = ctypes.CDLL(os.path.join(_FOLDER, _FACTS["library"]))
    if ctypes.c_int32.in_dll(library, "ww_solution_abi").value != 1:
        raise ImportError(_FACTS["library"] + " was built for another version of warpwright/solution.h")
    for name, result in (("ww_workspace_bytes", ctypes.c_uint64), ("ww_packed_bytes", ctypes.c_uint64),
                         ("ww_prepare", ctypes.c_int), ("ww_forward", ctypes.c_int)):
        if hasattr(library, name):
            getattr(library, name).argtypes = [ctypes.POINTER(_Call)]
            getattr(library, name).restype = result
    return library


class _TensorList:
    """Owns the C arrays of one ww_tensors, and what its data pointers point to."""

    def __init__(self, specs):
        count = len(specs)
        self.specs = specs
        self.kept = [None] * count
        self.tensors = (_DLTensor * count)()
        self._names = (ctypes.c_char_p * count)(*[spec["name"].encode() for spec in specs])
        self._items = (ctypes.POINTER(_DLTensor) * count)()
        self._dims = []
        for index, spec in enumerate(specs):
            if spec.get("none"):
                continue
            shape = spec["shape"]
            strides = [1] * len(shape)
            for axis in range(len(shape) - 2, -1, -1):
                strides[axis] = strides[axis + 1] * shape[axis + 1]
            dims = ((ctypes.c_int64 * len(shape))(*shape), (ctypes.c_int64 * len(shape))(*strides))
            self._dims.append(dims)
            code, bits = _KINDS[spec["dtype"]]
            self.tensors[index] = _DLTensor(None, 1, 0, len(shape), code, bits, 1, *dims, 0)
            self._items[index] = ctypes.pointer(self.tensors[index])
        self.c = _Tensors(count, self._names, self._items)

    def lend(self, index, value):
        """Points item `index` at a tensor (contiguous and aligned) or a Python number."""
        if isinstance(value, torch.Tensor):
            self.tensors[index].data = value.data_ptr()
        elif value is not None:
            value = _SCALARS[self.specs[index]["dtype"]](value)
            self.tensors[index].data = ctypes.addressof(value)
        self.kept[index] = value

    def take_back(self):
        for index in range(len(self.specs)):
            self.tensors[index].data = None
            self.kept[index] = None


def _settle(value):
    """The tensor itself, or a copy where it is not contiguous or not aligned."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.contiguous()
    return value if value.data_ptr() % _ALIGNMENT == 0 else value.clone()


def _block(size):
    """`size` bytes at a multiple of 256, as (owner, address)."""
    if size == 0:
        return None, None
    owner = torch.empty(size + 255, dtype=torch.uint8)
    return owner, (owner.data_ptr() + 255) // 256 * 256


def _describe(value):
    if isinstance(value, torch.Tensor):
        return (str(value.dtype).removeprefix("torch."), tuple(value.shape))
    return _constant_text(value) if _is_constant(value) else type(value).__name__


def _expectation(spec):
    if spec.get("none"):
        return "NoneType"
    if spec.get("scalar"):
        return {"int64": "int", "float64": "float", "bool": "bool"}[spec["dtype"]]
    return (spec["dtype"], tuple(spec["shape"]))


def _text(description):
    return description if isinstance(description, str) else "%s%s" % (description[0], list(description[1]))


def _flatten(name, value, into):
    """Leaves by name, as the judge names them."""
    if isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", range(len(value)))
        for label, item in zip(names, value):
            _flatten("%s.%s" % (name, label), item, into)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _flatten("%s.%s" % (name, key), item, into)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            _flatten("%s.%s" % (name, field.name), getattr(value, field.name), into)
    else:
        into[name] = value


def _is_constant(value):
    return isinstance(value, (str, bytes, torch.dtype, torch.device))


def _constant_text(value):
    return value if isinstance(value, str) else repr(value)


def _version(tensor):
    # Tensors made in inference mode have no version: they cannot be told from changed ones, so never reuse.
    return object() if tensor.is_inference() else (tensor.data_ptr(), tensor._version)


class _Plan:
    """Calls the library for one workload of one ModelNew. One call at a time."""

    def __init__(self, workload):
        self.workload = workload
        self._inputs = _TensorList(workload["inputs"])
        self._weights = _TensorList(workload["weights"])
        self._outputs = _TensorList(workload["outputs"])
        self._init = _TensorList([_init_spec(item) for item in workload["init"]])
        for index, item in enumerate(workload["init"]):
            self._init.lend(index, _init_value(item))
        self._versions = None
        self._packed = self._workspace = (None, None)
        self._call = _Call(struct_size=ctypes.sizeof(_Call), config=workload["config"], inputs=self._inputs.c,
                           weights=self._weights.c, outputs=self._outputs.c, init=self._init.c)
        self._lock = threading.Lock()

    def run(self, values, weights):
        with self._lock:
            self._call.threads = torch.get_num_threads()
            self._take_weights(weights)
            results = self._make_results()
            try:
                for index, value in enumerate(values):
                    self._inputs.lend(index, _settle(value))
                for index, result in enumerate(results):
                    self._outputs.lend(index, result)
                self._check("ww_forward", _library().ww_forward(ctypes.byref(self._call)))
            finally:
                self._inputs.take_back()
                self._outputs.take_back()
            self._note_mutations(weights)
            return results

    def _make_results(self):
        """New tensors; buffers that forward changes are written in place."""
        returned = len(self.workload["outputs"]) - len(self.workload["mutates"])
        results = [None if spec.get("none") else torch.empty(spec["shape"], dtype=getattr(torch, spec["dtype"]))
                   for spec in self.workload["outputs"][:returned]]
        return results + [self._weights.kept[index] for index in self._mutated()]

    def _mutated(self):
        names = [spec["name"] for spec in self.workload["weights"]]
        return [names.index(name) for name in self.workload["mutates"]]

    def _note_mutations(self, weights):
        for index in self._mutated():
            if self._weights.kept[index] is not weights[index]:
                weights[index].copy_(self._weights.kept[index])
            # What was packed may have come from a buffer that is different now.
            self._versions = None

    def _take_weights(self, weights):
        """Lends the weights, and prepares them anew where they were changed or moved."""
        versions = [_version(weight) if isinstance(weight, torch.Tensor) else weight for weight in weights]
        if versions == self._versions:
            return
        self._versions = None
        mismatch = _mismatch(self.workload, weights)
        if mismatch:
            raise ValueError(mismatch)
        for index, weight in enumerate(weights):
            self._weights.lend(index, _settle(weight))
        library, call = _library(), ctypes.byref(self._call)
        if hasattr(library, "ww_workspace_bytes"):
            self._workspace = _block(library.ww_workspace_bytes(call))
        if hasattr(library, "ww_packed_bytes"):
            self._packed = _block(library.ww_packed_bytes(call))
        self._call.workspace, self._call.packed = self._workspace[1], self._packed[1]
        if hasattr(library, "ww_prepare"):
            self._check("ww_prepare", library.ww_prepare(call))
        self._versions = versions

    def _check(self, function, status):
        if status != _OK:
            meaning = "does not support these shapes" if status == _UNSUPPORTED else "failed with status %d" % status
            raise RuntimeError("%s of %s %s" % (function, _FACTS["library"], meaning))


def _init_spec(item):
    items = item["value"] if isinstance(item["value"], list) else [item["value"]]
    if items and all(isinstance(value, bool) for value in items):
        dtype = "bool"
    else:
        dtype = "float64" if any(isinstance(value, float) for value in items) else "int64"
    return {"name": item["name"], "dtype": dtype, "shape": [len(items)] if isinstance(item["value"], list) else []}


def _init_value(item):
    if not isinstance(item["value"], list):
        return item["value"]
    return torch.tensor(item["value"], dtype=getattr(torch, _init_spec(item)["dtype"]))


def _fits(workload, values):
    """True if these are the workload's arguments: same names, shapes and types."""
    constants = [_constant_text(value) for value in values.values() if _is_constant(value)]
    if constants != _constants(workload["input_tree"]) or len(workload["inputs"]) != len(values) - len(constants):
        return False
    return all(spec["name"] in values and _describe(values[spec["name"]]) == _expectation(spec)
               for spec in workload["inputs"])


def _mismatch(workload, weights):
    """Why these weights are not what the workload was judged with, or None."""
    for spec, weight in zip(workload["weights"], weights):
        if _describe(weight) != _expectation(spec):
            return "%s is %s, but this kernel was judged with %s" % (
                spec["name"], _text(_describe(weight)), _text(_expectation(spec)))
        if isinstance(weight, torch.Tensor) and weight.device.type != "cpu":
            return "%s is on %s; this ModelNew runs on the CPU" % (spec["name"], weight.device)
    return None


def _build(node, results):
    """The nested value that `node` describes, from flat results."""
    kind = node["kind"]
    if kind == "tensor":
        return results[node["index"]]
    if kind == "scalar":
        return results[node["index"]].item()
    if kind == "none":
        return None
    if kind == "constant":
        return node["value"]
    parts = [_build(item, results) for item in node["items"]]
    if kind == "dict":
        return dict(zip(node["keys"], parts))
    if kind == "list":
        return parts
    python_type = getattr(_reference, node.get("type", ""), None)
    if kind == "namedtuple" and python_type is not None:
        return python_type(*parts)
    if kind == "dataclass" and python_type is not None:
        return python_type(**dict(zip(node["keys"], parts)))
    return tuple(parts)


def _constants(node):
    """Texts among the arguments that a workload was judged with: they choose what forward computes."""
    if node["kind"] == "constant":
        return [node["value"]]
    return [value for item in node.get("items", ()) for value in _constants(item)]


class ModelNew(_reference.Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._ww_plans = {}

    def __getstate__(self):
        return {**self.__dict__, "_ww_plans": {}}

    def _apply(self, *args, **kwargs):
        self._ww_plans = {}  # the weights may get another type: choose anew
        return super()._apply(*args, **kwargs)

    def forward(self, *args, **kwargs):
        if torch.compiler.is_compiling():
            return _untraced_forward(self, args, kwargs)
        return self._ww_forward(args, kwargs)

    def _ww_forward(self, args, kwargs):
        values = self._ww_values(args, kwargs)
        key = tuple((name, _describe(value)) for name, value in values.items())
        plan = self._ww_plans.get(key)
        if plan is None:
            plan = self._ww_plans[key] = self._ww_plan(values)
        weights = self._ww_weights(plan.workload)
        inputs = [values[spec["name"]] for spec in plan.workload["inputs"]]
        with torch.no_grad() if not torch.is_inference_mode_enabled() else contextlib.nullcontext():
            return _build(plan.workload["tree"], plan.run(inputs, weights))

    def _ww_values(self, args, kwargs):
        bound = _SIGNATURE.bind(self, *args, **kwargs)
        bound.apply_defaults()
        values = {}
        for name, value in list(bound.arguments.items())[1:]:
            _flatten(name, value, values)
        for name, value in values.items():
            if isinstance(value, torch.Tensor) and value.device.type != "cpu":
                raise ValueError("%s is on %s; this ModelNew runs on the CPU" % (name, value.device))
            if isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled():
                raise RuntimeError("%s requires a gradient, but this ModelNew has no backward: call it under "
                                   "torch.no_grad()" % name)
        return values

    def _ww_weights(self, workload):
        return [functools.reduce(getattr, spec["name"].split("."), self) for spec in workload["weights"]]

    def _ww_plan(self, values):
        """The plan of the judged workload that these inputs and this module's weights belong to."""
        mismatch = None
        for workload in _FACTS["workloads"]:
            if _fits(workload, values):
                mismatch = _mismatch(workload, self._ww_weights(workload))
                if mismatch is None:
                    return _Plan(workload)
        if mismatch:
            raise ValueError(mismatch)
        got = ", ".join("%s %s" % (name, _text(_describe(value))) for name, value in values.items())
        known = "; ".join(", ".join("%s %s" % (spec["name"], _text(_expectation(spec))) for spec in workload["inputs"])
                          for workload in _FACTS["workloads"])
        raise ValueError("ModelNew of %s was judged for other shapes. Given: %s. Supported: %s."
                         % (_FACTS["task"], got, known))


_SIGNATURE = inspect.signature(_reference.Model.forward)


def _forward(module, args, kwargs):
    return module._ww_forward(args, kwargs)


# A plain torch.compiler.disable would import the whole compiler, a second, into programs that never compile.
_untraced_forward = getattr(torch, "_disable_dynamo", torch.compiler.disable)(_forward)
