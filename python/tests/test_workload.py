# SPDX-License-Identifier: Apache-2.0
"""What the referee puts into the judge's arena: inputs, weights, expected values, truth."""

import unittest

import torch

from .judge_double import Refused, shared_parent

LINEAR = """
    import torch
    import torch.nn as nn
    DIM: int = 8
    EPS = 1e-5
    SIZES = (2, 3)

    class Model(nn.Module):
        def __init__(self, dim, eps, sizes):
            super().__init__()
            self.linear = nn.Linear(dim, dim)
            self.norm = nn.LayerNorm(dim, eps=eps)
            self.register_buffer("mask", torch.arange(dim).gt(2).float())
            self.table = torch.arange(4.0)

        def forward(self, x):
            return self.norm(self.linear(x)) * self.mask + self.table.sum()

    def get_inputs():
        return [torch.randn(4, DIM)]

    def get_init_inputs():
        return [DIM, EPS, SIZES]
"""


def single(forward, inputs, init="pass"):
    return f"""
import collections
import dataclasses
import torch
import torch.nn as nn

Pair = collections.namedtuple("Pair", "left right")

@dataclasses.dataclass
class Record:
    value: torch.Tensor
    count: int

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, {', '.join(inputs)}):
        {forward}

def get_inputs():
    return [{', '.join(inputs.values())}]
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.child = shared_parent().open()
        self.addCleanup(self.child.close)

    def start(self, source, input_seed=1, weight_seed=1, **fields):
        self.child.load(source, **fields)
        self.child.attach()
        self.child.draw(input_seed, weight_seed)
        return self.child

    def names(self, specs):
        return [(s["name"], s["dtype"], s["shape"]) for s in specs]


class Loading(Case):
    def test_lists_inputs_weights_outputs_and_constructor_numbers(self):
        spec = self.child.load(LINEAR, set={"DIM": 16, "SIZES": [5, 7]}, check=True)
        self.assertEqual(self.names(spec["inputs"]), [("x", "float32", [4, 16])])
        self.assertEqual([s["name"] for s in spec["weights"]],
                         ["mask", "linear.weight", "linear.bias", "norm.weight", "norm.bias", "table"])
        self.assertEqual(self.names(spec["outputs"]), [("out", "float32", [4, 16])])
        self.assertEqual(spec["init"], [{"name": "dim", "value": 16}, {"name": "eps", "value": 1e-5},
                                        {"name": "sizes", "value": [5, 7]}])

    def test_casts_floating_tensors_only(self):
        source = single("return nn.functional.cross_entropy(x, y) + n", {"x": "torch.randn(4, 5)", "y": "torch.randint(5, (4,))",
                                                                         "n": "2"})
        spec = self.child.load(source, contract={"precision": "bf16"}, check=True)
        self.assertEqual(self.names(spec["inputs"]), [("x", "bfloat16", [4, 5]), ("y", "int64", [4]), ("n", "int64", [])])
        self.assertTrue(spec["inputs"][2]["scalar"])
        self.assertEqual(spec["outputs"][0]["dtype"], "bfloat16")

    def test_modes(self):
        source = single("return x * (2 if self.training else 3)", {"x": "torch.ones(2)"}, "self.eval()")
        for mode, value in (("source", 3.0), ("eval", 3.0), ("train", 2.0)):
            child = self.start(source, contract={"mode": mode})
            child.expect()
            self.assertEqual(child.regions["expected"]["out"][0].item(), value, mode)

    def test_several_workloads_of_one_file_live_side_by_side(self):
        for name, dim in (("a", 4), ("b", 6)):
            self.child.load(LINEAR, workload=name, set={"DIM": dim})
            self.child.attach(name)
            self.child.draw(1, 1, workload=name)
            self.child.expect(workload=name)
        self.assertEqual(self.child.regions["expected"]["out"].shape, (4, 6))
        self.child.expect(workload="a")


class Outputs(Case):
    def flat(self, forward, inputs=None, **fields):
        self.start(single(forward, inputs or {"x": "torch.randn(3, 4)"}), check=True, **fields)
        self.child.expect()
        return self.names(self.child.spec["outputs"]), self.child.spec["tree"]

    def test_nested_results_are_flattened_by_name(self):
        names, tree = self.flat("return {'a': (x, x.sum(1)), 'b': [x.argmax(1)], 'c': None}")
        self.assertEqual(names, [("out.a.0", "float32", [3, 4]), ("out.a.1", "float32", [3]), ("out.b.0", "int64", [3])])
        self.assertEqual(tree["kind"], "dict")
        self.assertEqual(tree["keys"], ["a", "b", "c"])
        self.assertEqual(tree["items"][2], {"kind": "none"})

    def test_named_tuples_and_data_classes(self):
        names, tree = self.flat("return Pair(x, Record(x > 0, 3))")
        self.assertEqual(names, [("out.left", "float32", [3, 4]), ("out.right.value", "bool", [3, 4]),
                                 ("out.right.count", "int64", [])])
        self.assertEqual((tree["kind"], tree["type"], tree["items"][1]["kind"]), ("namedtuple", "Pair", "dataclass"))

    def test_torchs_own_result_types(self):
        names, _ = self.flat("return x.max(1)")
        self.assertEqual([name for name, _, _ in names], ["out.0", "out.1"])

    def test_numbers_and_empty_tensors(self):
        names, _ = self.flat("return x.shape[0], 2.5, True, x[:0]")
        self.assertEqual(names, [("out.0", "int64", []), ("out.1", "float64", []), ("out.2", "bool", []),
                                 ("out.3", "float32", [0, 4])])
        self.assertEqual(self.child.regions["expected"]["out.1"].item(), 2.5)
        self.assertEqual(self.child.regions["expected"]["out.2"].item(), True)

    def test_outputs_that_are_not_contiguous_arrive_contiguous(self):
        self.flat("return x.t()")
        self.assertTrue(torch.equal(self.child.regions["expected"]["out"], self.child.regions["inputs"]["x"].t()))


class Inputs(Case):
    def test_same_seed_same_values_other_seed_other_values(self):
        child = self.start(LINEAR)
        first = child.copies("inputs")["x"]
        child.draw(2)
        second = child.copies("inputs")["x"]
        child.draw(1)
        self.assertTrue(torch.equal(child.regions["inputs"]["x"], first))
        self.assertFalse(torch.equal(second, first))

    def test_numpy_and_random_follow_the_seed(self):
        source = single("return x + y", {"x": "torch.from_numpy(__import__('numpy').random.rand(4))",
                                         "y": "torch.full((4,), __import__('random').random())"})
        child = self.start(source)
        first = child.copies("inputs")
        child.draw(1)
        for name, value in first.items():
            self.assertTrue(torch.equal(child.regions["inputs"][name], value))

    def test_nested_absent_and_scalar_arguments(self):
        source = single("return x[0] + x[1]['k'] * n + (0 if m is None else 1)",
                        {"x": "[torch.ones(2), {'k': torch.ones(2)}]", "n": "3", "m": "None"})
        child = self.start(source, check=True)
        self.assertEqual([s["name"] for s in child.spec["inputs"]], ["x.0", "x.1.k", "n", "m"])
        self.assertTrue(child.spec["inputs"][3]["none"])
        self.assertEqual(child.regions["inputs"]["n"].item(), 3)
        child.expect()
        self.assertEqual(child.regions["expected"]["out"].tolist(), [4.0, 4.0])

    def test_keyword_arguments(self):
        source = single("return x - y", {"x": "0", "y": "0"}) + "\ndef get_inputs():\n    return {'y': torch.ones(2), 'x': torch.zeros(2)}\n"
        child = self.start(source, check=True)
        child.expect()
        self.assertEqual(child.regions["expected"]["out"].tolist(), [-1.0, -1.0])

    def test_variadic_forward(self):
        source = single("return sum(xs)", {"*xs": "torch.ones(2), torch.ones(2)"})
        child = self.start(source, check=True)
        self.assertEqual([s["name"] for s in child.spec["inputs"]], ["xs.0", "xs.1"])

    def test_reference_computes_on_the_arena_itself(self):
        child = self.start(single("return x * 2", {"x": "torch.randn(3)"}))
        child.regions["inputs"]["x"].copy_(torch.tensor([1.0, 2.0, 3.0]))
        child.expect()
        self.assertEqual(child.regions["expected"]["out"].tolist(), [2.0, 4.0, 6.0])

    def test_strided_and_shared_inputs_keep_their_structure(self):
        source = """
            import torch
            class Model(torch.nn.Module):
                def forward(self, x, y, z, w):
                    shared = x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
                    return x.sum(1) + y[0], torch.tensor([*x.stride(), *z.stride(), *w.stride(), int(shared)])
            def get_inputs():
                base = torch.randn(4, 6)
                return [base.t(), base[1:], torch.randn(5, 1).expand(5, 3), torch.randn(2, 8)[:, ::2]]
        """
        child = self.start(source, check=True)
        child.expect()
        self.assertEqual(child.regions["expected"]["out.1"].tolist(), [1, 6, 1, 0, 8, 2, 1])
        x, y = child.regions["inputs"]["x"], child.regions["inputs"]["y"]
        self.assertTrue(torch.equal(x.t()[1:], y))
        torch.testing.assert_close(child.regions["expected"]["out.0"], x.sum(1) + y[0])
        child.draw(3)
        self.assertTrue(torch.equal(x.t()[1:], y))

    def test_shapes_that_vary_with_the_seed_are_a_limit(self):
        source = single("return x.sum(0)", {"x": "torch.randn(int(torch.randint(3, 90, ())), 2)"})
        with self.assertRaisesRegex(Refused, "limit: varying_inputs"):
            self.child.load(source, check=True)


class Patterns(Case):
    def values(self, draw, pattern):
        child = self.start(single("return x * 1", {"x": draw, "n": "torch.arange(7)"}))
        source = child.copies("inputs")["x"]
        child.draw(1, None, pattern)
        self.assertEqual(child.regions["inputs"]["n"].tolist(), list(range(7)))
        return source, child.regions["inputs"]["x"]

    def test_magnitudes(self):
        for pattern, low, high in (("large", 50, 2000), ("small", 5e-4, 2e-2), ("heavy", 1.2, 300)):
            source, shaped = self.values("torch.randn(4000)", pattern)
            self.assertGreater(shaped.std() / source.std(), low)
            self.assertLess(shaped.std() / source.std(), high)

    def test_equal(self):
        _, shaped = self.values("torch.randn(50)", "equal")
        self.assertEqual(shaped.unique().numel(), 1)

    def test_probabilities_stay_probabilities(self):
        for pattern in ("large", "small", "heavy", "equal"):
            source, shaped = self.values("torch.rand(30, 9).softmax(-1)", pattern)
            self.assertTrue(((shaped >= 0) & (shaped <= 1)).all(), pattern)
            torch.testing.assert_close(shaped.sum(-1), torch.ones(30))
            self.assertFalse(torch.equal(source, shaped))

    def test_values_that_are_not_negative_stay_so(self):
        for pattern in ("large", "small", "heavy", "equal"):
            self.assertTrue((self.values("torch.rand(99) * 5", pattern)[1] >= 0).all(), pattern)

    def test_half_precision_stays_finite(self):
        child = self.start(single("return x * 1", {"x": "torch.randn(4000)"}), contract={"precision": "fp16"})
        for pattern in ("large", "heavy"):
            child.draw(1, None, pattern)
            self.assertTrue(child.regions["inputs"]["x"].isfinite().all())

    def test_nudge_changes_one_element_of_the_present_values(self):
        child = self.start(single("return x * 1", {"x": "torch.randn(50)"}))
        before = child.copies("inputs")["x"]
        child.draw(9, None, "nudge")
        self.assertEqual((child.regions["inputs"]["x"] != before).sum().item(), 1)

    def test_masks_and_integers_stay(self):
        child = self.start(single("return x * m", {"x": "torch.ones(9, dtype=torch.int64)", "m": "torch.ones(9).cumsum(0).gt(4).float()"}))
        before = child.copies("inputs")
        child.draw(1, None, "large")
        for name, value in before.items():
            self.assertTrue(torch.equal(child.regions["inputs"][name], value))


class Weights(Case):
    def test_every_weight_seed_gives_other_parameters_and_the_same_tables(self):
        child = self.start(LINEAR, weight_seed=1)
        first = child.copies("weights")
        child.draw(None, 2)
        second = child.copies("weights")
        for name in ("linear.weight", "linear.bias", "norm.weight", "norm.bias"):
            self.assertFalse(torch.equal(first[name], second[name]), name)
        for name in ("mask", "table"):
            self.assertTrue(torch.equal(first[name], second[name]), name)
        child.draw(None, 1)
        self.assertTrue(torch.equal(child.regions["weights"]["linear.weight"], first["linear.weight"]))

    def test_constants_are_left_where_the_contract_says_so(self):
        child = self.start(LINEAR, contract={"redraw_constants": False})
        self.assertTrue((child.regions["weights"]["norm.weight"] == 1).all())
        self.assertNotEqual(child.regions["weights"]["linear.weight"].std(), 0)

    def test_scale_and_kind_of_distribution_are_kept(self):
        init = "self.a = nn.Parameter(torch.randn(5000) * 0.02 + 1); self.b = nn.Parameter(torch.rand(5000) - 0.5); " \
               "self.c = nn.Parameter(torch.rand(5000) ** 4 + 1)"
        child = self.start(single("return x * self.a.sum() + self.b.sum() + self.c.sum()", {"x": "torch.ones(1)"}, init))
        a, b, c = (child.regions["weights"][name] for name in "abc")
        self.assertAlmostEqual(a.mean().item(), 1, delta=0.01)
        self.assertAlmostEqual(a.std().item(), 0.02, delta=0.002)
        self.assertLessEqual(b.abs().max().item(), 0.5)
        self.assertGreaterEqual(c.min().item(), 0.9)

    def test_padding_rows_stay_zero(self):
        child = self.start(single("return self.e(x)", {"x": "torch.arange(4)"}, "self.e = nn.Embedding(6, 5, padding_idx=2)"))
        table = child.regions["weights"]["e.weight"]
        self.assertTrue((table[2] == 0).all())
        self.assertTrue((table[1] != 0).all())

    def test_tied_weights_stay_tied(self):
        init = "self.a = nn.Linear(3, 3, bias=False); self.b = nn.Linear(3, 3, bias=False); self.b.weight = self.a.weight"
        child = self.start(single("return self.b(self.a(x))", {"x": "torch.randn(2, 3)"}, init), weight_seed=5)
        weights, x = child.regions["weights"], child.regions["inputs"]["x"]
        self.assertTrue(torch.equal(weights["a.weight"], weights["b.weight"]))
        child.expect()
        torch.testing.assert_close(child.regions["expected"]["out"], x @ weights["a.weight"].t() @ weights["a.weight"].t())

    def test_running_statistics_are_drawn_and_positive(self):
        child = self.start(single("return self.bn(x)", {"x": "torch.randn(4, 3)"}, "self.bn = nn.BatchNorm1d(3)"),
                           contract={"mode": "eval"})
        variance = child.regions["weights"]["bn.running_var"]
        self.assertTrue(((variance >= 0.5) & (variance <= 1.5)).all())
        self.assertFalse((child.regions["weights"]["bn.running_mean"] == 0).any())

    def test_masks_with_infinities_stay(self):
        init = "self.m = nn.Parameter(torch.full((3, 3), float('-inf')).triu(1))"
        child = self.start(single("return (x + self.m).softmax(-1)", {"x": "torch.randn(3, 3)"}, init))
        self.assertTrue(torch.equal(child.regions["weights"]["m"], torch.full((3, 3), float("-inf")).triu(1)))

    def test_random_attributes_are_drawn_anew(self):
        child = self.start(single("return x + self.h", {"x": "torch.randn(40)"}, "self.h = torch.randn(40)"), weight_seed=1)
        first = child.copies("weights")["h"]
        child.draw(None, 2)
        self.assertFalse(torch.equal(child.regions["weights"]["h"], first))

    def test_weight_seed_never_repeats_the_inputs(self):
        child = self.start(single("return x + self.h", {"x": "torch.randn(40)"}, "self.h = nn.Parameter(torch.randn(40))"), 7, 7)
        self.assertFalse(torch.equal(child.regions["weights"]["h"], child.regions["inputs"]["x"]))


class Mutation(Case):
    SOURCE = single("return self.bn(x)", {"x": "torch.randn(8, 3)"}, "self.bn = nn.BatchNorm1d(3)")
    MUTATES = ["bn.running_mean", "bn.running_var", "bn.num_batches_tracked"]

    def test_mutated_buffers_are_outputs_and_weights_are_restored(self):
        child = self.start(self.SOURCE, contract={"mutates": self.MUTATES}, check=True)
        self.assertEqual([s["name"] for s in child.spec["outputs"]], ["out", *self.MUTATES])
        before = child.copies("weights")
        child.expect(truth=True)
        expected = child.copies("expected")
        child.expect()
        self.assertTrue(torch.equal(child.regions["expected"]["bn.running_mean"], expected["bn.running_mean"]))
        for name, value in before.items():
            self.assertTrue(torch.equal(child.regions["weights"][name], value), name)
        mean = 0.9 * before["bn.running_mean"] + 0.1 * child.regions["inputs"]["x"].mean(0)
        torch.testing.assert_close(expected["bn.running_mean"], mean)
        torch.testing.assert_close(child.regions["truth"]["bn.running_mean"].float(), mean)
        self.assertEqual(expected["bn.num_batches_tracked"].item(), before["bn.num_batches_tracked"].item() + 1)

    def test_buffers_that_are_replaced_count_as_written(self):
        source = single("self.c = self.c + 1\n        return x * self.c", {"x": "torch.ones(2)"}, "self.register_buffer('c', torch.zeros(2))")
        child = self.start(source, contract={"mutates": ["c"]}, check=True)
        for _ in range(2):
            child.expect()
            self.assertEqual(child.regions["expected"]["c"].tolist(), [1.0, 1.0])
            self.assertEqual(child.regions["weights"]["c"].tolist(), [0.0, 0.0])


    def test_attributes_that_are_assigned_anew_are_put_back_before_every_call(self):
        source = single("self.h = self.h + x\n        return self.h * 1", {"x": "torch.ones(2)"}, "self.h = torch.zeros(2)")
        child = self.start(source, check=True)
        self.assertIn("forward assigns h anew", child.spec["notes"][0])
        for _ in range(2):
            child.expect(truth=True)
            self.assertEqual(child.regions["expected"]["out"].tolist(), [1.0, 1.0])
            self.assertEqual(child.regions["truth"]["out"].tolist(), [1.0, 1.0])


class Truth(Case):
    def test_truth_is_more_exact_than_expected(self):
        child = self.start(single("return x.sum()", {"x": "torch.randn(100000) * 1000"}))
        self.assertTrue(child.expect(truth=True)["truth_available"])
        exact = child.regions["inputs"]["x"].double().sum()
        self.assertAlmostEqual(child.regions["truth"]["out"].item(), exact.item(), delta=1e-8)
        self.assertNotEqual(child.regions["expected"]["out"].item(), exact.item())

    def test_inner_casts_lose_nothing(self):
        child = self.start(single("return (x.float().pow(2).mean() + torch.zeros(1, dtype=torch.float32)).to(x.dtype)",
                                  {"x": "torch.randn(1000)"}), contract={"precision": "bf16"})
        child.expect(truth=True)
        self.assertAlmostEqual(child.regions["truth"]["out"].item(), child.regions["inputs"]["x"].double().pow(2).mean().item(), places=13)

    def test_truth_follows_new_weights(self):
        child = self.start(LINEAR)
        for seed in (1, 2):
            child.draw(seed, seed)
            child.expect(truth=True)
            torch.testing.assert_close(child.regions["truth"]["out"].float(), child.regions["expected"]["out"])

    def test_operators_without_double_have_no_truth(self):
        child = self.start(single("assert x.dtype == torch.float32\n        return x * 2", {"x": "torch.randn(3)"}))
        self.assertFalse(child.expect(truth=True)["truth_available"])

    def test_values_that_are_not_finite_are_reported(self):
        child = self.start(single("return 1 / x", {"x": "torch.zeros(3)"}))
        self.assertFalse(child.expect()["finite"])


if __name__ == "__main__":
    unittest.main()
