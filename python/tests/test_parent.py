# SPDX-License-Identifier: Apache-2.0
import os
import signal
import time
import unittest

from .judge_double import ParentDouble, Refused, shared_parent

SIMPLE = """
    import torch
    class Model(torch.nn.Module):
        def forward(self, x):
            return x + 1
    def get_inputs():
        return [torch.randn(4)]
"""


class Parent(unittest.TestCase):
    def test_hello_states_protocol_and_versions(self):
        reply = shared_parent().ask("hello")
        self.assertEqual(reply["protocol"], 1)
        self.assertRegex(reply["torch"], r"^\d+\.\d+\.\d+$")

    def test_runs_no_thread_of_its_own(self):
        parent = shared_parent()
        parent.ask("hello")
        self.assertEqual(len(os.listdir(f"/proc/{parent.process.pid}/task")), 1)

    def test_outlives_a_child_that_is_killed_and_says_how_it_ended(self):
        parent = shared_parent()
        child = parent.open()
        child.ask("hello")
        os.kill(child.pid, signal.SIGKILL)
        with self.assertRaises(EOFError):
            child.ask("hello")
        self.assertIn({"pid": child.pid, "exit": None, "signal": 9}, self.ended(parent, child.pid))
        self.assertTrue(parent.ask("hello")["ok"])

    def test_child_ends_when_its_socket_closes(self):
        parent = shared_parent()
        child = parent.open()
        child.close()
        self.assertIn({"pid": child.pid, "exit": 0, "signal": None}, self.ended(parent, child.pid))

    def test_children_are_apart(self):
        parent = shared_parent()
        first, second = parent.open(), parent.open()
        first.load(SIMPLE)
        with self.assertRaisesRegex(Refused, "fault: .*no workload 'w'"):
            second.ask("draw", workload="w", input_seed=1, weight_seed=None, pattern="source")
        first.close()
        second.close()

    def test_unknown_requests_are_faults(self):
        with self.assertRaisesRegex(Refused, "fault: .*unknown request"):
            shared_parent().ask("dance")

    def test_ends_with_its_children_when_the_judge_is_gone(self):
        parent = ParentDouble()
        child = parent.open()
        child.ask("hello")
        parent.close()
        self.assertEqual(parent.process.returncode, 0)
        with self.assertRaises((EOFError, ConnectionError)):
            child.ask("hello")

    def ended(self, parent, pid):
        found = []
        for _ in range(200):
            found += parent.ask("reaped")["ended"]
            if any(entry["pid"] == pid for entry in found):
                break
            time.sleep(0.01)
        return found


if __name__ == "__main__":
    unittest.main()
