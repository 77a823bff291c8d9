# SPDX-License-Identifier: Apache-2.0
"""Captured graphs (docs/formats/graph.md), of small modules and of every task that is shipped."""

import json
import os
import tomllib
import unittest

from .judge_double import PYTHON_FOLDER, Refused
from .test_workload import Case, single

TASKS = os.path.join(os.path.dirname(PYTHON_FOLDER), "tasks")


def check_consistency(test, graph):
    """Names are unique, refer backwards only, and all are used."""
    known = {}
    for entry in graph["inputs"]:
        test.assertNotIn(entry["name"], known)
        known[entry["name"]] = False
    for node in graph["nodes"]:
        for name in references(node["args"]) + references(list(node["kwargs"].values())):
            test.assertIn(name, known, f"{node['name']} refers forwards")
            known[name] = True
        for output in node["outputs"]:
            test.assertNotIn(output["name"], known)
            known[output["name"]] = False
    for entry in graph["outputs"] + graph["mutations"]:
        if "value" in entry:
            test.assertIn(entry["value"], known)
            known[entry["value"]] = True
    for entry in graph["inputs"]:
        test.assertTrue(known[entry["name"]], entry["name"])


def references(value):
    if isinstance(value, dict):
        return [value["ref"]] if "ref" in value else []
    if isinstance(value, list):
        return [name for part in value for name in references(part)]
    return []


class Capture(Case):
    def capture(self, source, **fields):
        self.child.load(source, **fields)
        self.child.attach()
        graph = self.child.ask("capture", workload="w")["graph"]
        check_consistency(self, graph)
        return graph

    def test_operators_stay_whole_and_sources_are_named(self):
        graph = self.capture(single("return nn.functional.layer_norm(self.l(x), (5,), self.w)", {"x": "torch.randn(3, 4)"},
                                    "self.l = nn.Linear(4, 5); self.w = nn.Parameter(torch.ones(5))"))
        self.assertEqual([n["op"] for n in graph["nodes"]], ["aten.linear.default", "aten.layer_norm.default"])
        self.assertEqual({e["source"] for e in graph["inputs"]}, {"x", "l.weight", "l.bias", "w"})
        self.assertEqual(graph["outputs"][0]["name"], "out")
        self.assertEqual(graph["nodes"][1]["outputs"][0]["shape"], [3, 5])

    def test_writes_in_place_become_values(self):
        graph = self.capture(single("y = x.clone()\n        y += 1\n        return y.relu_()", {"x": "torch.randn(3)"}))
        self.assertEqual([n["op"] for n in graph["nodes"]], ["aten.clone.default", "aten.add.Tensor", "aten.relu.default"])

    def test_several_results_of_one_node(self):
        graph = self.capture(single("v, i = x.max(1)\n        return i, v", {"x": "torch.randn(3, 4)"}))
        self.assertEqual([o["dtype"] for o in graph["nodes"][0]["outputs"]], ["float32", "int64"])
        self.assertEqual([(o["name"], o["value"][-2:]) for o in graph["outputs"]], [("out.0", ".1"), ("out.1", ".0")])

    def test_declared_mutations(self):
        names = ["bn.running_mean", "bn.running_var", "bn.num_batches_tracked"]
        graph = self.capture(single("return self.bn(x)", {"x": "torch.randn(3, 4)"}, "self.bn = nn.BatchNorm1d(4)"),
                             contract={"mutates": names})
        self.assertEqual({m["name"] for m in graph["mutations"]}, set(names))

    def test_dead_code_is_gone(self):
        graph = self.capture(single("dead = x.exp()\n        return x + 1", {"x": "torch.randn(3)", "unused": "torch.ones(2)"}))
        self.assertEqual([n["op"] for n in graph["nodes"]], ["aten.add.Tensor"])
        self.assertEqual([e["name"] for e in graph["inputs"]], ["x"])

    def test_nested_absent_and_scalar_arguments_are_matched_to_their_names(self):
        graph = self.capture(single("return x[1]['b'] * n + z, 3, None, x[0]",
                                    {"x": "[torch.ones(2), {'a': 'text', 'b': torch.zeros(2)}]", "m": "None", "n": "2.5", "z": "torch.ones(1)"}))
        self.assertEqual({e["source"] for e in graph["inputs"]}, {"x.0", "x.1.b", "n", "z"})
        self.assertEqual([o["name"] for o in graph["outputs"]], ["out.0", "out.1", "out.3"])
        self.assertEqual(graph["outputs"][1]["constant"], 3)

    def test_infinities_data_types_and_constants(self):
        graph = self.capture(single("y = x.masked_fill(x > 0, float('-inf')).to(torch.float64)\n        "
                                    "return y + torch.tensor([1.0, 2.0])", {"x": "torch.randn(3, 2)"}))
        text = json.dumps(graph)
        self.assertIn('{"scalar": "-inf"}', text)
        self.assertIn('{"dtype": "float64"}', text)
        constant = [e for e in graph["inputs"] if e["kind"] == "constant"]
        self.assertEqual(constant[0]["values"], [1.0, 2.0])

    def test_data_dependent_control_flow_is_a_limit(self):
        with self.assertRaisesRegex(Refused, "limit: capture_failed"):
            self.capture(single("return x + 1 if x.sum() > 0 else x - 1", {"x": "torch.randn(3)"}))

    def test_capture_leaves_the_workload_usable(self):
        self.capture(single("return self.bn(x)", {"x": "torch.randn(3, 4)"}, "self.bn = nn.BatchNorm1d(4)"))
        self.child.draw(1, 1)
        self.child.expect(truth=True)


class ShippedTasks(Case):
    def test_every_task_is_admitted_and_captured(self):
        for name in sorted(os.listdir(TASKS)):
            with self.subTest(name):
                with open(os.path.join(TASKS, name, "model.py")) as file:
                    source = file.read()
                with open(os.path.join(TASKS, name, "task.toml"), "rb") as file:
                    settings = tomllib.load(file)
                workload = settings["workloads"][0]
                contract = {key: value for key, value in settings.items() if key != "workloads"}
                self.child.load(source, set=workload.get("set", {}), contract=contract, check=True)
                self.child.attach()
                self.child.draw(1, 1)
                reply = self.child.expect(truth=True)
                self.assertTrue(reply["finite"] and reply["truth_available"])
                check_consistency(self, self.child.ask("capture", workload="w")["graph"])


if __name__ == "__main__":
    unittest.main()
