# SPDX-License-Identifier: Apache-2.0
"""Timed calls and torch.compile. No figure is asserted: only order, records and effects."""

import os
import unittest

import torch

from .judge_double import Refused, shared_parent
from .test_workload import Case, single

BIG = single("return (x * 2).exp() + 1", {"x": "torch.randn(10000000)"})


class Timed(Case):
    def test_one_record_per_release_with_its_sequence(self):
        child = self.start(BIG)
        for expected in (1, 2, 3):
            sequence, inner, status, zero = child.timed()
            self.assertEqual((sequence, status, zero), (expected, 0, 0))
            self.assertGreater(inner, 0)

    def test_nothing_runs_before_the_go(self):
        child = self.start(BIG)
        child.ask("stage", workload="w", side="eager", sequence=9, spin_us=0)
        os.set_blocking(child.done, False)
        with self.assertRaises(BlockingIOError):
            os.read(child.done, 24)
        os.set_blocking(child.done, True)
        os.eventfd_write(child.go, 1)
        self.assertEqual(len(os.read(child.done, 24)), 24)

    def test_collect_gives_what_the_call_returned(self):
        child = self.start(BIG)
        child.timed()
        child.ask("collect", workload="w", into="other")
        child.expect()
        self.assertTrue(torch.equal(child.regions["other"]["out"], child.regions["expected"]["out"]))

    def test_call_uses_what_lies_in_the_arena(self):
        child = self.start(single("return x + 1", {"x": "torch.randn(4)"}))
        child.regions["inputs"]["x"].fill_(41)
        child.timed()
        child.ask("collect", workload="w", into="expected")
        self.assertEqual(child.regions["expected"]["out"].tolist(), [42.0] * 4)

    def test_mutated_buffers_are_collected_and_restored(self):
        source = single("self.c.add_(1)\n        return x * 1", {"x": "torch.ones(2)"}, "self.register_buffer('c', torch.zeros(2))")
        child = self.start(source, contract={"mutates": ["c"]})
        for _ in range(3):
            child.timed()
            child.ask("collect", workload="w", into="other")
            self.assertEqual(child.regions["other"]["c"].tolist(), [1.0, 1.0])
            self.assertEqual(child.regions["weights"]["c"].tolist(), [0.0, 0.0])

    def test_call_that_raises_has_a_status_and_its_reason_later(self):
        source = single("self.calls += 1\n        assert self.calls < 2, 'enough'\n        return x * 1", {"x": "torch.randn(4)"},
                        "self.calls = 0")
        child = self.start(source)
        self.assertEqual(child.timed()[2], 1)
        with self.assertRaisesRegex(Refused, "task: forward raises AssertionError: enough"):
            child.ask("collect", workload="w", into="other")

    def test_twin_spins_for_as_long_as_asked(self):
        twin = shared_parent().open(twin=True)
        self.addCleanup(twin.close)
        sequence, inner, status, _ = twin.timed("spin", spin_us=3000)
        self.assertEqual((sequence, status), (1, 0))
        self.assertGreaterEqual(inner, 3_000_000)

    def test_side_that_is_not_compiled_is_refused_before_the_go(self):
        child = self.start(BIG)
        with self.assertRaisesRegex(Refused, "compile is not compiled"):
            child.ask("stage", workload="w", side="compile", sequence=1, spin_us=0)
        self.assertEqual(child.timed()[2], 0)

    def test_freed_blocks_are_kept_so_that_calls_do_not_fault_pages(self):
        child = self.start(BIG)
        for _ in range(3):
            child.timed()
        before = faults(child.pid)
        for _ in range(5):
            child.timed()
        # Each call makes three tensors of 9765 pages; without kept blocks every one is faulted anew.
        self.assertLess(faults(child.pid) - before, 5 * 9765)


def faults(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[7])


class Compiled(unittest.TestCase):
    """One process for all: a first compilation costs seconds."""

    def test_compiles_counts_breaks_and_times(self):
        parent = shared_parent()
        self.assertIn("avx", parent.ask("prepare")["vector_instructions"] + "avx")
        child = parent.open()
        self.addCleanup(child.close)
        child.load(single("return torch.nn.functional.gelu(x) * self.w", {"x": "torch.randn(64, 33)"}, "self.w = nn.Parameter(torch.ones(33))"))
        child.attach().draw(1, 1)
        reply = child.ask("compile", workload="w", side="compile")
        self.assertEqual((reply["graphs"], reply["breaks"], reply["recompiles"]), (1, 0, 0))
        child.expect()
        self.assertEqual(child.timed("compile")[2], 0)
        child.ask("collect", workload="w", into="other")
        torch.testing.assert_close(child.regions["other"]["out"], child.regions["expected"]["out"])

        child.load(single("print(x.shape)\n        y = x + 1\n        torch._dynamo.graph_break()\n        return y * 2", {"x": "torch.randn(8)"}), workload="v")
        child.attach("v").draw(1, 1, workload="v")
        reply = child.ask("compile", workload="v", side="compile")
        self.assertGreater(reply["breaks"], 0)

        child.load(single("return x * [1, 2][len([k for k in {1: 2}]) - 1]", {"x": "torch.randn(5, 7)"}), workload="u")
        child.attach("u").draw(1, 1, workload="u")
        self.assertEqual(child.ask("compile", workload="u", side="compile")["recompiles"], 0)
        # The first workload's compilation still stands.
        self.assertEqual(child.timed("compile", workload="w")[2], 0)

    def test_a_number_that_varies_is_not_compiled_anew_in_a_timed_call(self):
        child = shared_parent().open()
        self.addCleanup(child.close)
        child.load(single("return x * scale", {"x": "torch.ones(4)", "scale": "float(torch.rand(()))"}))
        child.attach().draw(1, 1)
        child.ask("compile", workload="w", side="compile")
        results = []
        for seed in (11, 12):
            child.draw(seed, 1)
            child.timed("compile")
            child.ask("collect", workload="w", into="other")
            results.append(child.regions["other"]["out"].tolist())
        self.assertEqual(results[0], results[1])
        child.expect()
        self.assertNotEqual(child.regions["expected"]["out"].tolist(), results[1])


if __name__ == "__main__":
    unittest.main()
