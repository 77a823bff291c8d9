# SPDX-License-Identifier: Apache-2.0
"""One workload of a task: module, arguments, weights and results, on the judge's arena once it is attached."""

import inspect

import torch

from warpwright.referee import numerics, patterns
from warpwright.referee.placement import Arena, Placement
from warpwright.referee.refusal import blame_task, limit, task_fault
from warpwright.referee.source import load_module
from warpwright.referee.trees import DTYPES, Flattener, Leaf, as_tensor, spec
from warpwright.referee.weights import named_tensors, rule_for

# Structure, integer buffers and masks come from this build; everything that is drawn is drawn anew for each weight seed.
BUILD_SEED = 0
OTHER_BUILD_SEED = 1
LOAD_SEED = 2


class Workload:
    def __init__(self, filename, source, overrides, contract, threads):
        self.filename = filename
        self.contract = contract
        self.threads = threads
        self.dtype = numerics.DTYPES[contract["precision"]]
        self.notes = []
        self.compiled = {}
        self.last = None
        self.truth = None
        self.dirty = False
        self.kept = {}
        self.module = load_module(filename, source, overrides)
        self.init = self._init_arguments()
        self.model = self.build_model(BUILD_SEED)
        self._adopt_weights()
        self._adopt_inputs(self.draw_source(LOAD_SEED))
        self._adopt_outputs()

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def constructor_names(self, count):
        """Names of the constructor's first `count` positional arguments."""
        parameters = inspect.signature(self.module.Model.__init__).parameters.values()
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
        return [names[i] if i < len(names) else f"args.{i}" for i in range(count)]

    # Building

    def _init_arguments(self):
        if not callable(getattr(self.module, "get_init_inputs", None)):
            return []
        with blame_task(self.filename, "get_init_inputs"):
            given = self.module.get_init_inputs()
        if not isinstance(given, (list, tuple, dict)):
            raise task_fault(f"get_init_inputs returns a {type(given).__name__}, not a list")
        return given

    def build_model(self, seed):
        numerics.apply_precision(self.contract)
        with torch.no_grad(), blame_task(self.filename, "Model.__init__"):
            numerics.seed_everything(seed)
            named = isinstance(self.init, dict)
            model = self.module.Model(**self.init) if named else self.module.Model(*self.init)
        if not isinstance(model, torch.nn.Module):
            raise task_fault("Model is not a torch.nn.Module")
        if self.contract["mode"] != "source":
            model.train(self.contract["mode"] == "train")
        return model

    def _adopt_weights(self):
        with blame_task(self.filename, "state_dict"):
            self.weights = named_tensors(self.model)
        self.placed_weights = Placement([item.tensor for item in self.weights], self.dtype)
        self._point_weights()
        names = {item.name: index for index, item in enumerate(self.weights)}
        for name in self.contract["mutates"]:
            if name not in names:
                raise task_fault(f"mutates names {name}, but the model has no buffer of that name")
        self.mutated = [names[name] for name in self.contract["mutates"]]
        self.touched = list(self.mutated)
        self._find_rules()

    def _point_weights(self):
        for item, tensor in zip(self.weights, self.placed_weights.tensors, strict=True):
            item.tensor.data = tensor

    def _find_rules(self):
        firsts = [self.weights[group.members[0].index] for group in self.placed_weights.groups]
        other = None
        if any(item.tensor.is_floating_point() and not item.tensor.requires_grad for item in firsts):
            # What a second build leaves equal is a constant of the task: a mask, a table.
            other = {item.name: item.tensor for item in named_tensors(self.build_model(OTHER_BUILD_SEED))}
        self.rules = []
        for item, group in zip(firsts, self.placed_weights.groups, strict=True):
            twin = other.get(item.name) if other else None
            differs = twin is not None and not torch.equal(twin.detach().to(item.tensor.dtype), item.tensor.detach())
            self.rules.append(rule_for(item, group.flat, differs, self.contract["redraw_constants"]))

    def draw_source(self, seed):
        """The task's own arguments under a seed, as leaves; `self.input_tree` nests them."""
        numerics.apply_precision(self.contract)
        with torch.no_grad(), blame_task(self.filename, "get_inputs"):
            numerics.seed_everything(numerics.derived_seed("inputs", seed))
            given = self.module.get_inputs()
        flattener = Flattener(none_is_leaf=True)
        if isinstance(given, dict):
            tree = flattener.add("", given)
        elif isinstance(given, (list, tuple)):
            tree = flattener.add("", dict(zip(self._parameter_names(given), given)))
            tree.kind, tree.keys, tree.python_type = "tuple", None, tuple
        else:
            raise task_fault(f"get_inputs returns a {type(given).__name__}, not a list")
        self.input_tree = tree
        return flattener.leaves

    def _parameter_names(self, given):
        signature = inspect.signature(self.model.forward)
        try:
            signature.bind(*given)
        except TypeError as error:
            raise task_fault(f"get_inputs does not fit forward: {error}") from error
        names = []
        for parameter in signature.parameters.values():
            if parameter.kind == inspect.Parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}.{i}" for i in range(len(given) - len(names))]
            elif parameter.kind != inspect.Parameter.KEYWORD_ONLY:
                names.append(parameter.name)
        return names[: len(given)]

    def _adopt_inputs(self, leaves):
        for leaf in leaves:
            spec(leaf.name, leaf.value)
        self.inputs = leaves
        self.placed_inputs = self.place_inputs(leaves)
        self._arrange_arguments()
        self.input_specs = [spec(leaf.name, leaf.value) for leaf in self.inputs]

    def place_inputs(self, leaves):
        return Placement([leaf.value if isinstance(leaf.value, torch.Tensor) else None for leaf in leaves], self.dtype)

    def nested_arguments(self, leaves, tensors):
        """(positional, named) arguments for forward."""
        values = [leaf.value if tensor is None else tensor for leaf, tensor in zip(leaves, tensors, strict=True)]
        given = self.input_tree.rebuild(values)
        return ((), given) if isinstance(given, dict) else (given, {})

    def _arrange_arguments(self):
        """Leaves from now on hold the placed tensors, so that the task's own draw can be freed."""
        tensors = self.placed_inputs.tensors
        self.arguments = self.nested_arguments(self.inputs, tensors)
        self.inputs = [
            leaf if tensor is None else Leaf(leaf.name, tensor) for leaf, tensor in zip(self.inputs, tensors, strict=True)
        ]

    def _adopt_outputs(self):
        versions = [item.tensor._version for item in self.weights]
        input_versions = [None if tensor is None else tensor._version for tensor in self.placed_inputs.tensors]
        self.snapshot(range(len(self.weights)))
        self.output_tree, leaves = self.flatten_result(self.run())
        self.output_specs = [spec(leaf.name, leaf.value) for leaf in leaves]
        self.output_specs += [spec(self.weights[index].name, self.weights[index].tensor) for index in self.mutated]
        for index, (item, version) in enumerate(zip(self.weights, versions, strict=True)):
            written = item.current() is not item.tensor or item.tensor._version != version
            if written and index not in self.touched:
                self.touched.append(index)
        for leaf, tensor, version in zip(self.inputs, self.placed_inputs.tensors, input_versions, strict=True):
            if tensor is not None and tensor._version != version:
                raise task_fault(f"forward changes its input {leaf.name}")
        self.settle()
        self.snapshot(self.touched)

    # Running

    def run(self, arguments=None):
        """forward as an eager user calls it. May leave written buffers behind: `settle` puts them back."""
        positional, named = arguments or self.arguments
        self.prepare_run()
        self.dirty = True
        with torch.no_grad(), blame_task(self.filename, "forward"):
            return self.model(*positional, **named)

    def prepare_run(self):
        numerics.apply_precision(self.contract)
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)

    def flatten_result(self, result):
        if result is None:
            raise task_fault("forward returns None")
        flattener = Flattener(none_is_leaf=False)
        with blame_task(self.filename, "the result of forward"):
            tree = flattener.add("out", result)
        if not flattener.leaves:
            raise task_fault("forward returns no tensor and no number")
        return tree, flattener.leaves

    def outputs(self, result):
        """Flat outputs as tensors, mutated buffers last; refused where they are not what `load` promised."""
        _, leaves = self.flatten_result(result)
        tensors = [as_tensor(leaf.value) for leaf in leaves] + [self.weights[i].current() for i in self.mutated]
        found = [[spec(leaf.name, leaf.value)[key] for key in ("name", "dtype", "shape")] for leaf in leaves]
        due = [[s[key] for key in ("name", "dtype", "shape")] for s in self.output_specs]
        if found != due[: len(found)] or len(tensors) != len(due):
            raise limit("data_dependent_shape", _difference(found, due))
        return [tensor.detach() for tensor in tensors]

    def settle(self):
        """Undoes what forward wrote into weights."""
        if not self.dirty:
            return
        self.dirty = False
        for index, kept in self.kept.items():
            self.weights[index].put_back()
            self.weights[index].tensor.data.copy_(kept)

    def snapshot(self, indexes):
        self.kept = {index: self.weights[index].tensor.detach().clone() for index in indexes}

    # On the arena

    def attach(self, fd, size, layout):
        arena = Arena(fd, size)
        self.settle()
        self.placed_inputs.move(self._views(arena, self.input_specs, layout["inputs"]))
        weight_specs = [spec(item.name, item.tensor) for item in self.weights]
        self.placed_weights.move(self._views(arena, weight_specs, layout["weights"]))
        self._point_weights()
        self.input_views = self._views(arena, self.input_specs, layout["inputs"])
        self.expected = self._views(arena, self.output_specs, layout["expected"])
        self.other = self._views(arena, self.output_specs, layout["other"])
        truth_specs = [{**s, "dtype": "float64"} for s in self.output_specs]
        self.truth_views = self._views(arena, truth_specs, layout["truth"])
        self._arrange_arguments()
        self._publish_numbers()

    def _views(self, arena, specs, offsets):
        dtypes = {name: dtype for dtype, name in DTYPES.items()}
        if len(offsets) != len(specs):
            raise ValueError(f"layout has {len(offsets)} offsets where {len(specs)} tensors are")
        return [
            None if offset is None or s.get("none") else arena.view(dtypes[s["dtype"]], s["shape"], offset)
            for s, offset in zip(specs, offsets)
        ]

    def _publish_numbers(self):
        for leaf, view, tensor in zip(self.inputs, self.input_views, self.placed_inputs.tensors, strict=True):
            if view is not None and tensor is None:
                view.copy_(as_tensor(leaf.value))

    def draw(self, input_seed, weight_seed, pattern):
        self.settle()
        if weight_seed is not None:
            self.draw_weights(weight_seed)
        seed = None if input_seed is None else numerics.derived_seed(f"pattern {pattern}", input_seed)
        if pattern == "nudge":
            if seed is None:
                raise ValueError("nudge wants an input seed")
            patterns.nudge(self.placed_inputs.groups, torch.Generator().manual_seed(seed))
        elif input_seed is not None:
            self.take_inputs(self.draw_source(input_seed))
            if pattern in patterns.PATTERNS:
                patterns.apply_pattern(self.placed_inputs.groups, pattern, torch.Generator().manual_seed(seed))
            elif pattern != "source":
                raise ValueError(f"unknown pattern {pattern!r}")
        self.placed_inputs.publish()
        self._publish_numbers()

    def draw_weights(self, seed):
        generator = torch.Generator().manual_seed(numerics.derived_seed("weights", seed))
        for rule, group in zip(self.rules, self.placed_weights.groups, strict=True):
            if rule is not None:
                rule.apply(group.flat, generator)
        self.placed_weights.publish()
        self.snapshot(self.touched)

    def take_inputs(self, leaves):
        fresh = self.place_inputs(leaves)
        same_leaves = [leaf.name for leaf in leaves] == [leaf.name for leaf in self.inputs]
        if not same_leaves or not fresh.same_structure(self.placed_inputs):
            raise limit("varying_inputs", "get_inputs returns other shapes, types or strides under another seed")
        self.placed_inputs.refresh(fresh)
        self.inputs = leaves
        self._arrange_arguments()

    def write(self, tensors, views):
        for tensor, view in zip(tensors, views, strict=True):
            if view is not None:
                view.copy_(tensor)


def _difference(found, due):
    for have, want in zip(found, due):
        if have != want:
            return f"{want[0]} was {want[1]} {want[2]}, and is {have[1]} {have[2]} for other values"
    return f"forward returned {len(due)} values, and {len(found)} for other values"
