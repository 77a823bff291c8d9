# SPDX-License-Identifier: Apache-2.0
"""forward as a graph of ATen operators (docs/formats/graph.md)."""

import math
import operator

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.utils import _pytree as pytree

from warpwright.referee.refusal import describe, limit
from warpwright.referee.trees import DTYPES, Flattener

SCHEMA = "warpwright.graph/1"
LARGEST_CONSTANT = 4096
_LEFT_OUT = (torch.device, torch.layout, torch.memory_format)


def capture(workload):
    positional, named = workload.arguments
    workload.prepare_run()
    try:
        program = _export(workload, positional, named)
    except BaseException as error:  # noqa: BLE001: torch.export fails in many ways
        raise limit("capture_failed", describe(error)) from error
    finally:
        workload.dirty = True
        workload.settle()
    return _Writer(workload, program).write()


def _export(workload, positional, named):
    """Float arguments stay open as tensors of shape [], where forward computes with them and asks nothing else of them."""
    opened = pytree.tree_map(_open_number, (tuple(positional), named))
    try:
        return _export_as_is(workload, *opened)
    except Exception:  # noqa: BLE001: forward wants a Python number, so the one that it has now
        workload.dirty = True
        workload.settle()
        return _export_as_is(workload, tuple(positional), named)


def _open_number(value):
    return torch.tensor(value, dtype=torch.float64) if type(value) is float else value


def _export_as_is(workload, positional, named):
    with torch.no_grad():
        program = torch.export.export(workload.model, positional, named or None, strict=False)
        # An empty table decomposes nothing that stands for itself, but makes writes into values.
        return program.run_decompositions({})


class _Writer:
    def __init__(self, workload, program):
        self.workload = workload
        self.program = program
        self.nodes = {node.name: node for node in program.graph.nodes}
        self.names = {}

    def write(self):
        outputs, mutations = self._outputs()
        live = self._live([o["value"] for o in outputs + mutations if "value" in o])
        nodes = [self._node(node) for node in self.program.graph.nodes if node.op == "call_function"
                 and node.target is not operator.getitem and node.name in live]
        for entry in outputs + mutations:
            if "value" in entry:
                entry["value"] = self._reference(self.nodes[entry["value"]])
        inputs = [entry for entry in self._inputs() if entry["name"] in live]
        return {"schema": SCHEMA, "inputs": inputs, "nodes": nodes, "outputs": outputs, "mutations": mutations}

    def _live(self, names):
        live, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            if name not in live:
                live.add(name)
                waiting += [node.name for node in self.nodes[name].all_input_nodes]
        return live

    def _inputs(self):
        arguments = iter(_argument_names(self.workload))
        for entry in self.program.graph_signature.input_specs:
            if entry.kind == InputKind.USER_INPUT:
                name = next(arguments, None)
                if isinstance(entry.arg, ConstantArgument):
                    continue
                yield self._input(entry, "input", name)
            elif entry.target in self._weight_names():
                yield self._input(entry, "weight", entry.target)
            else:
                yield self._constant(entry)

    def _weight_names(self):
        return {item.name for item in self.workload.weights}

    def _input(self, entry, kind, source):
        value = self.nodes[entry.arg.name].meta["val"]
        return {"name": entry.arg.name, "kind": kind, "source": source, **_described(value)}

    def _constant(self, entry):
        """A tensor that forward itself builds from literals."""
        tensor = self.program.constants[entry.target]
        if tensor.numel() > LARGEST_CONSTANT:
            raise limit("capture_failed", f"forward builds a constant of {tensor.numel()} elements; make it a buffer")
        values = [_argument_number(value) for value in tensor.reshape(-1).tolist()]
        return {"name": entry.arg.name, "kind": "constant", "source": None, **_described(tensor), "values": values}

    def _outputs(self):
        names = iter(_result_names(self.workload))
        outputs, mutations = [], []
        for entry in self.program.graph_signature.output_specs:
            if entry.kind == OutputKind.USER_OUTPUT:
                name = next(names, None)
                if not isinstance(entry.arg, ConstantArgument):
                    outputs.append({"value": entry.arg.name, "name": name})
                elif entry.arg.value is not None:
                    outputs.append({"constant": entry.arg.value, "name": name})
            elif entry.kind == OutputKind.BUFFER_MUTATION:
                if entry.target in self.workload.contract["mutates"]:
                    mutations.append({"value": entry.arg.name, "name": entry.target})
            else:
                raise limit("capture_failed", f"forward writes {entry.target}")
        return outputs, mutations

    def _node(self, node):
        if not isinstance(node.target, torch._ops.OpOverload):
            raise limit("capture_failed", f"higher-order operator {node.target}")
        value = node.meta["val"]
        results = [(node.name, value)]
        if isinstance(value, (tuple, list)):
            results = [(f"{node.name}.{index}", part) for index, part in enumerate(value)]
        return {
            "name": node.name,
            "op": str(node.target),
            "args": [self._argument(argument) for argument in node.args],
            "kwargs": {key: self._argument(argument) for key, argument in node.kwargs.items()
                       if not isinstance(argument, _LEFT_OUT)},
            "outputs": [{"name": name, **_described(part)} for name, part in results if part is not None],
        }

    def _reference(self, node):
        if node.op == "call_function" and node.target is operator.getitem:
            return f"{node.args[0].name}.{node.args[1]}"
        return node.name

    def _argument(self, value):
        if isinstance(value, torch.fx.Node):
            return {"ref": self._reference(value)}
        if isinstance(value, (list, tuple)):
            return [self._argument(part) for part in value]
        if isinstance(value, _LEFT_OUT):
            return None
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        return _argument_number(value)


def _argument_number(value):
    if isinstance(value, float) and not math.isfinite(value):
        return {"scalar": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise limit("capture_failed", f"an argument of type {type(value).__name__}")


def _described(value):
    if not isinstance(value, torch.Tensor) or value.dtype not in DTYPES:
        raise limit("capture_failed", f"a value of type {getattr(value, 'dtype', type(value).__name__)}")
    return {"dtype": DTYPES[value.dtype], "shape": [int(size) for size in value.shape]}


def _argument_names(workload):
    """Names in the order in which torch.export lists arguments, None for what the judge passes no tensor for."""
    def walk(node):
        if node.index is not None:
            yield workload.inputs[node.index].name
        elif not node.items:
            yield None
        for item in node.items:
            yield from walk(item)

    return [name for item in workload.input_tree.items for name in walk(item)]


def _result_names(workload):
    flattener = Flattener(none_is_leaf=True)
    flattener.add("out", workload.run())
    workload.settle()
    return [leaf.name for leaf in flattener.leaves]
