# SPDX-License-Identifier: Apache-2.0
"""The winner's module.py, made from the template over a small library: does it stand in for Model, and does
try_module notice where it does not?"""

import copy
import json
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import unittest

import torch

from warpwright.try_module import try_module

HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEMPLATE = os.path.join(HOME, "src", "agent", "module_template.py")

REFERENCE = textwrap.dedent("""
    import torch
    import torch.nn as nn

    ROWS = 6
    DIM = 5


    class Model(nn.Module):
        def __init__(self, dim, shift):
            super().__init__()
            self.scale = nn.ModuleDict({"inner": nn.Linear(dim, 1, bias=False)})
            self.register_buffer("calls", torch.zeros(1))
            self.offset = torch.arange(float(dim))
            self.shift = shift

        def forward(self, pair, factor, unused=None):
            self.calls += 1
            x, y = pair
            out = (x * self.scale["inner"].weight[0] + y + self.offset) * factor + self.shift
            return {"out": out, "sums": [out.sum(1), None]}


    def get_inputs():
        return [(torch.randn(ROWS, DIM), torch.randn(ROWS, DIM)), 3]


    def get_init_inputs():
        return [DIM, 0.5]
""")

KERNEL = textwrap.dedent("""
    #include <warpwright/solution.h>
    #include <stdint.h>

    static const float* floats(const ww_tensors* list, int index) { return (const float*)list->items[index]->data; }

    /* packed: scale + 0, to see that it is made anew when weights change */
    WW_EXPORT uint64_t ww_packed_bytes(const ww_call* call) { return 4 * (uint64_t)call->inputs.items[0]->shape[1]; }
    WW_EXPORT uint64_t ww_workspace_bytes(const ww_call* call) { return 4 * (uint64_t)call->inputs.items[0]->shape[1]; }
    WW_EXPORT int32_t ww_config_count(void) { return 2; }

    WW_EXPORT int ww_prepare(const ww_call* call) {
      float* packed = (float*)call->packed;
      if ((uintptr_t)packed % 256 || (uintptr_t)call->workspace % 256) return 9;
      for (int64_t i = 0; i < call->inputs.items[0]->shape[1]; i++) packed[i] = floats(&call->weights, 0)[i];
      return WW_OK;
    }

    WW_EXPORT int ww_forward(const ww_call* call) {
      if (call->config != 1) return WW_UNSUPPORTED;
      if (call->inputs.count != 4 || call->inputs.items[3] || call->weights.count != 3 || call->outputs.count != 3) return 5;
      const int64_t rows = call->inputs.items[0]->shape[0], dim = call->inputs.items[0]->shape[1];
      const float *x = floats(&call->inputs, 0), *y = floats(&call->inputs, 1), *scale = (const float*)call->packed;
      const float factor = (float)*(const int64_t*)call->inputs.items[2]->data, *offset = floats(&call->weights, 2);
      const float shift = (float)*(const double*)call->init.items[1]->data;
      float *out = (float*)call->outputs.items[0]->data, *sums = (float*)call->outputs.items[1]->data;
      for (int64_t r = 0; r < rows; r++) {
        sums[r] = 0;
        for (int64_t i = 0; i < dim; i++) {
          const float value = (x[r * dim + i] * scale[i] + y[r * dim + i] + offset[i]) * factor + shift;
          out[r * dim + i] = value;
          sums[r] += value;
        }
      }
      *(float*)call->outputs.items[2]->data += 1; /* in place */
      return WW_OK;
    }
""")


def spec(name, *shape, **more):
    return {"name": name, "dtype": "float32", "shape": list(shape), **more}


def workload(name, rows, dim):
    tensor = lambda index: {"kind": "tensor", "index": index}  # noqa: E731
    return {
        "name": name,
        "config": 1,
        "inputs": [spec("pair.0", rows, dim), spec("pair.1", rows, dim),
                   {"name": "factor", "dtype": "int64", "shape": [], "scalar": True}, spec("unused", none=True)],
        "weights": [spec("scale.inner.weight", 1, dim), spec("calls", 1), spec("offset", dim)],
        "outputs": [spec("out.out", rows, dim), spec("out.sums.0", rows), spec("calls", 1)],
        "mutates": ["calls"],
        "init": [{"name": "dim", "value": dim}, {"name": "shift", "value": 0.5}],
        "tree": {"kind": "dict", "keys": ["out", "sums"],
                 "items": [tensor(0), {"kind": "list", "items": [tensor(1), {"kind": "none"}]}]},
        "input_tree": {"kind": "tuple", "items": [{"kind": "tuple", "items": [tensor(0), tensor(1)]},
                                                  {"kind": "scalar", "index": 2}, {"kind": "none", "index": 3}]},
    }


class ModuleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="ww-module-")
        path = cls.folder.name
        with open(TEMPLATE, encoding="utf-8") as file:
            template = file.read()
        facts = {"task": "pairs", "library": "solution.so", "workloads": [workload("small", 6, 5), workload("wide", 3, 40)]}
        for name, text in (("kernel.c", KERNEL), ("reference.py", REFERENCE),
                           ("module.py", template.replace("@FACTS@", json.dumps(facts)))):
            with open(os.path.join(path, name), "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-I" + os.path.join(HOME, "include"),
                        os.path.join(path, "kernel.c"), "-o", os.path.join(path, "solution.so")], check=True)
        sys.path.insert(0, path)
        import module
        cls.module = module

    @classmethod
    def tearDownClass(cls):
        sys.path.remove(cls.folder.name)
        cls.folder.cleanup()

    def pair(self, rows=6, dim=5):
        torch.manual_seed(3)
        reference = self.module._reference.Model(dim, 0.5)
        candidate = self.module.ModelNew(dim, shift=0.5)
        candidate.load_state_dict(reference.state_dict())
        return reference, candidate, (torch.randn(rows, dim), torch.randn(rows, dim))

    def assert_same(self, reference, candidate, *inputs):
        with torch.no_grad():
            expected, got = reference(*inputs), candidate(*inputs)
        torch.testing.assert_close(got["out"], expected["out"])
        torch.testing.assert_close(got["sums"][0], expected["sums"][0])
        self.assertIsNone(got["sums"][1])

    def test_computes_what_model_computes_in_both_workloads(self):
        for rows, dim in ((6, 5), (3, 40)):
            reference, candidate, inputs = self.pair(rows, dim)
            self.assert_same(reference, candidate, inputs, 3)
            self.assert_same(reference, candidate, inputs, -2)

    def test_mutated_buffers_change_as_in_model(self):
        reference, candidate, inputs = self.pair()
        for _ in range(3):
            self.assert_same(reference, candidate, inputs, 1)
        self.assertEqual(candidate.calls.item(), 3)
        self.assertEqual(reference.calls.item(), 3)

    def test_packed_weights_follow_every_change_of_the_weights(self):
        reference, candidate, inputs = self.pair()
        self.assert_same(reference, candidate, inputs, 3)
        for model in (reference, candidate):
            with torch.no_grad():
                model.scale["inner"].weight.mul_(2)
        self.assert_same(reference, candidate, inputs, 3)
        for model in (reference, candidate):
            model.scale["inner"].weight = torch.nn.Parameter(torch.full((1, 5), 7.0))
        self.assert_same(reference, candidate, inputs, 3)

    def test_non_contiguous_inputs_and_inference_mode(self):
        reference, candidate, _ = self.pair()
        inputs = (torch.randn(5, 6).t(), torch.randn(6, 11)[:, 1::2])
        self.assert_same(reference, candidate, inputs, 3)
        with torch.inference_mode():
            torch.testing.assert_close(candidate(inputs, 3)["out"], reference(inputs, 3)["out"])

    def test_copies_and_pickles(self):
        reference, candidate, inputs = self.pair()
        self.assert_same(reference, candidate, inputs, 3)
        self.assert_same(reference, copy.deepcopy(candidate), inputs, 3)
        reference.calls.zero_()
        state = pickle.loads(pickle.dumps(candidate.state_dict()))
        self.assertEqual(set(state), set(reference.state_dict()))

    def test_what_was_not_judged_is_refused_by_name(self):
        _, candidate, inputs = self.pair()
        cases = [
            (ValueError, "judged for other shapes", ((torch.randn(7, 5), torch.randn(7, 5)), 3)),
            (ValueError, "judged for other shapes", (inputs, 3.5)),
            (ValueError, "judged for other shapes", (tuple(x.double() for x in inputs), 3)),
            (ValueError, "judged for other shapes", (inputs, 3, torch.zeros(1))),
            (RuntimeError, "no backward", ((inputs[0].clone().requires_grad_(), inputs[1]), 3)),
            (TypeError, "missing a required argument", (inputs,)),
        ]
        for kind, text, arguments in cases:
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                candidate(*arguments)
        with self.assertRaisesRegex(ValueError, "scale.inner.weight is float64"):
            candidate.double()((inputs[0], inputs[1]), 3)

    def request(self, source=REFERENCE, dims=5):
        return {"folder": self.folder.name, "filename": "pairs.py", "source": source,
                "contract": {"precision": "fp32", "mode": "source"},
                "workloads": [{"name": "small", "set": {"DIM": dims}}]}

    def test_trial_of_a_good_module_finds_nothing(self):
        self.assertEqual(try_module(self.request()), [])

    def test_trial_notices_wrong_results_shapes_and_state(self):
        wrong = {
            "out.out differs": REFERENCE.replace("x * self", "y * self"),
            "out has 2 parts, expected 3": REFERENCE.replace('{"out": out,', '{"out": out, "more": out,'),
            "state.calls differs": REFERENCE.replace("calls += 1", "calls += 2"),
            ".*nexpected key": REFERENCE.replace('"calls", torch', '"count", torch').replace("self.calls", "self.count"),
        }
        for text, source in wrong.items():
            with self.subTest(text):
                problems = try_module(self.request(source))
                self.assertEqual(len(problems), 1)
                self.assertRegex(problems[0], "workload small: " + text)
        self.assertIn("judged for other shapes", try_module(self.request(dims=9))[0])


if __name__ == "__main__":
    unittest.main()
