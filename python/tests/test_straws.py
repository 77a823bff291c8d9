# SPDX-License-Identifier: Apache-2.0
import unittest

import torch

from .test_workload import Case, single

LINEAR = single("return self.l(x)", {"x": "torch.randn(32, 48)"}, "self.l = nn.Linear(48, 48)")


class Straws(Case):
    def straw(self, name):
        reply = self.child.ask("straw", workload="w", name=name)
        return reply["skipped"], self.child.regions["other"]

    def ready(self, source, **fields):
        child = self.start(source, **fields)
        child.expect()
        return child.regions["expected"]

    def test_load_lists_the_straws_that_may_apply(self):
        self.ready(LINEAR)
        self.assertEqual(self.child.spec["straws"],
                         ["zeros", "mean", "uninitialised", "previous", "echo:x", "precision:tf32", "precision:bf16",
                          "subset:x:0", "subset:x:1", "other_weights"])

    def test_every_listed_straw_answers_and_leaves_the_reference_alone(self):
        for precision in ("fp32", "bf16", "fp16"):
            self.ready(LINEAR, contract={"precision": precision})
            expected, inputs, weights = (self.child.copies(r) for r in ("expected", "inputs", "weights"))
            for name in self.child.spec["straws"]:
                skipped, other = self.straw(name)
                self.assertIsNone(skipped, name)
                self.assertFalse(torch.equal(other["out"], expected["out"]), name)
            self.child.expect()
            for region, kept in (("expected", expected), ("inputs", inputs), ("weights", weights)):
                for name, value in kept.items():
                    self.assertTrue(torch.equal(self.child.regions[region][name], value), (region, name))

    def test_values(self):
        expected = self.ready(LINEAR)["out"]
        self.assertTrue((self.straw("zeros")[1]["out"] == 0).all())
        torch.testing.assert_close(self.straw("mean")[1]["out"], expected.mean().expand_as(expected))
        self.assertTrue(torch.equal(self.straw("echo:x")[1]["out"], self.child.regions["inputs"]["x"]))

    def test_precision_steps_are_near_but_not_equal(self):
        expected = self.ready(LINEAR)["out"].clone()
        errors = []
        for step in ("tf32", "bf16"):
            error = (self.straw(f"precision:{step}")[1]["out"] - expected).abs().max().item()
            errors.append(error / expected.std().item())
        self.assertGreater(errors[0], 1e-5)
        self.assertLess(errors[0], 1e-2)
        self.assertGreater(errors[1], 2 * errors[0])

    def test_subset_leaves_out_the_last_sixteenth(self):
        self.ready(single("return x.sum(1)", {"x": "torch.randn(2, 160)"}))
        torch.testing.assert_close(self.straw("subset:x:1")[1]["out"], self.child.regions["inputs"]["x"][:, :150].sum(1))

    def test_those_that_coincide_with_the_reference_are_skipped(self):
        self.ready(single("return x * 0", {"x": "torch.rand(16)"}))
        self.assertEqual(self.straw("zeros")[0], "coincides with the reference")
        self.assertEqual(self.straw("subset:x:0")[0], "coincides with the reference")
        self.ready(single("return x * 1", {"x": "torch.randn(16)"}))
        self.assertEqual(self.straw("echo:x")[0], "coincides with the reference")

    def test_echo_is_spread_or_skipped(self):
        self.ready(single("return x + y", {"x": "torch.randn(5, 1)", "y": "torch.randn(5, 3)"}))
        self.assertTrue(torch.equal(self.straw("echo:x")[1]["out"], self.child.regions["inputs"]["x"].expand(5, 3)))
        self.ready(single("return x.sum(), y", {"x": "torch.randn(5, 2)", "y": "torch.randn(7, 3)"}))
        self.assertEqual(self.straw("echo:x")[0], "no shape of this input fits the outputs")

    def test_first_output_only(self):
        expected = self.ready(single("return x + 1, x + 2", {"x": "torch.randn(4)"}))
        _, other = self.straw("first_output_only")
        self.assertTrue(torch.equal(other["out.0"], expected["out.0"]))
        self.assertTrue((other["out.1"] == 0).all())

    def test_integer_and_boolean_outputs(self):
        self.ready(single("return x.argmax(1), x > 0", {"x": "torch.randn(64, 20)"}))
        for name in self.child.spec["straws"]:
            self.straw(name)


if __name__ == "__main__":
    unittest.main()
