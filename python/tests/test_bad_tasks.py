# SPDX-License-Identifier: Apache-2.0
"""Tasks that are refused: each gives one clear message, of the right kind, with a line where there is one."""

import unittest

from .judge_double import Refused, shared_parent

HEAD = "import torch\nimport torch.nn as nn\n"
INPUTS = "def get_inputs():\n    return [torch.randn(8, 8)]\n"


def model(body, init="", before=""):
    """A task whose forward is `body`."""
    lines = [HEAD, before, "class Model(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += [f"        {line}" for line in init.splitlines()]
    lines += ["    def forward(self, x):"] + [f"        {line}" for line in body.splitlines()]
    return "\n".join(lines) + "\n" + INPUTS


class BadTasks(unittest.TestCase):
    def refused(self, source, kind="task", check=True, memory_bytes=None, **fields):
        child = shared_parent().open(**({"memory_bytes": memory_bytes} if memory_bytes else {}))
        try:
            with self.assertRaises(Refused) as caught:
                child.load(source, check=check, **fields)
        finally:
            child.close()
        self.assertEqual(caught.exception.kind, kind, caught.exception.message)
        return caught.exception

    def test_syntax_error_has_its_line(self):
        error = self.refused("import torch\nclass Model(:\n")
        self.assertEqual(error.line, 2)
        self.assertIn("syntax error", error.message)

    def test_null_byte(self):
        self.assertIn("null bytes", self.refused("x = 1\0").message)

    def test_texts_that_a_task_chooses_are_safe_to_print(self):
        self.assertEqual(self.refused("raise ValueError('\\x1b[31m \\ud800 \\x00')\n").message, "the file raises ValueError: ?[31m ? ?")
        silent = "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E\n"
        self.assertEqual(self.refused(silent).message, "the file raises E: (no text)")

    def test_keys_and_constants_with_half_characters_are_told_apart_from_nonsense(self):
        child = shared_parent().open()
        self.addCleanup(child.close)
        reply = child.load(model("return {'\\ud800': x * 2, 'name': '\\udfff'}"))
        self.assertEqual([output["name"] for output in reply["outputs"]], ["out.?"])

    def test_numbers_beyond_64_bits_and_tensors_elsewhere_are_limits(self):
        wide = model("return x", before="").replace("[torch.randn(8, 8)]", "[2**70]")
        self.assertIn("unsupported_dtype: x is an integer beyond 64 bits", self.refused(wide, kind="limit").message)
        elsewhere = model("return x * 2").replace("torch.randn(8, 8)", "torch.randn(8, device='meta')")
        self.assertIn("unsupported_device: x is on device meta", self.refused(elsewhere, kind="limit").message)

    def test_raising_on_import_has_its_line(self):
        error = self.refused("import torch\nraise RuntimeError('not today')\n")
        self.assertEqual((error.line, error.message), (2, "the file raises RuntimeError: not today"))

    def test_missing_import(self):
        self.assertIn("ModuleNotFoundError", self.refused("import nothing_of_that_name\n").message)

    def test_exiting_on_import(self):
        self.assertEqual(self.refused("import sys\nsys.exit(3)\n").message, "the file exits SystemExit: 3")

    def test_no_model(self):
        self.assertEqual(self.refused(HEAD + INPUTS).message, "the file defines no Model")

    def test_no_get_inputs(self):
        self.assertEqual(self.refused(HEAD + "class Model(nn.Module):\n    pass\n").message, "the file defines no get_inputs")

    def test_model_that_is_no_module(self):
        self.assertIn("not a torch.nn.Module", self.refused(HEAD + INPUTS + "class Model:\n    pass\n").message)

    def test_raising_in_init(self):
        error = self.refused(model("return x", init="raise KeyError('w')"))
        self.assertEqual(error.line, 8)
        self.assertIn("Model.__init__ raises KeyError", error.message)

    def test_raising_in_get_inputs(self):
        error = self.refused(model("return x") + "def get_inputs():\n    return undefined_name\n")
        self.assertIn("get_inputs raises NameError", error.message)

    def test_raising_in_forward(self):
        error = self.refused(model("y = x\nreturn x @ torch.randn(3, 3)"))
        self.assertEqual(error.line, 10)
        self.assertIn("forward raises RuntimeError", error.message)

    def test_exiting_in_forward(self):
        self.assertIn("forward exits SystemExit", self.refused(model("raise SystemExit")).message)

    def test_keyboard_interrupt_in_forward(self):
        self.assertIn("forward raises KeyboardInterrupt", self.refused(model("raise KeyboardInterrupt")).message)

    def test_endless_recursion(self):
        self.assertIn("RecursionError", self.refused(model("return self(x)")).message)

    def test_get_inputs_that_do_not_fit_forward(self):
        error = self.refused(model("return x") + "def get_inputs():\n    return [1, 2]\n")
        self.assertIn("get_inputs does not fit forward", error.message)

    def test_get_inputs_that_are_no_list(self):
        error = self.refused(model("return x") + "def get_inputs():\n    return torch.ones(3)\n")
        self.assertIn("get_inputs returns a Tensor", error.message)

    def test_output_none(self):
        self.assertEqual(self.refused(model("pass")).message, "forward returns None")

    def test_output_without_a_tensor(self):
        self.assertIn("no tensor", self.refused(model("return ()")).message)

    def test_output_of_a_strange_type(self):
        self.assertIn("out.1 is a object", self.refused(model("return x, object()")).message)

    def test_data_dependent_shape(self):
        error = self.refused(model("return x[x > 0]"), kind="limit")
        self.assertTrue(error.message.startswith("data_dependent_shape: out was float32"), error.message)

    def test_random_forward(self):
        error = self.refused(model("return x + torch.rand_like(x)"), kind="limit")
        self.assertTrue(error.message.startswith("random_forward"))

    def test_dropout_in_training_mode(self):
        self.refused(model("return nn.functional.dropout(x)"), kind="limit")

    def test_random_numbers_of_numpy(self):
        self.refused(model("import numpy\nreturn x * float(numpy.random.rand())"), kind="limit")

    def test_changing_between_calls(self):
        error = self.refused(model("self.calls += 1\nreturn x * self.calls", init="self.calls = 0"))
        self.assertIn("does not repeat itself", error.message)

    def test_random_numbers_from_the_system(self):
        error = self.refused(model("import os\nreturn x * os.urandom(1)[0]"))
        self.assertIn("does not repeat itself", error.message)

    def test_changing_its_inputs(self):
        self.assertEqual(self.refused(model("x.add_(1)\nreturn x * 1"), check=False).message, "forward changes its input x")

    def test_changing_its_inputs_behind_torch(self):
        self.assertIn("forward changes its inputs: x", self.refused(model("x.numpy()[0] = 7\nreturn x + 1")).message)

    def test_writing_an_undeclared_buffer(self):
        error = self.refused(model("self.seen += 1\nreturn x + 0 * self.seen", init="self.register_buffer('seen', torch.zeros(()))"))
        self.assertIn("forward writes seen, which mutates does not name", error.message)
        self.assertIn('mutates = ["seen"]', error.message)

    def test_replacing_an_undeclared_buffer(self):
        self.refused(model("self.seen = self.seen + 1\nreturn x * 1", init="self.register_buffer('seen', torch.zeros(()))"))

    def test_mutates_that_names_nothing(self):
        error = self.refused(model("return x * 2"), contract={"mutates": ["running_meen"]})
        self.assertIn("running_meen", error.message)

    def test_set_names_an_unknown_constant(self):
        error = self.refused("DIM = 4\n" + model("return x * 2"), set={"DEPTH": 3})
        self.assertIn("set names DEPTH", error.message)
        self.assertIn("it has DIM", error.message)

    def test_set_names_a_computed_value(self):
        error = self.refused("import os\nDIM = os.cpu_count()\n" + model("return x * 2"), set={"DIM": 3})
        self.assertEqual((error.line, error.kind), (2, "task"))
        self.assertIn("DIM, which is not a constant", error.message)

    def test_wanting_200_gb_at_once(self):
        error = self.refused(model("return torch.ones(50_000_000_000)"), memory_bytes=4 << 30)
        self.assertRegex(error.message, "forward raises RuntimeError.*memory")

    def test_wanting_too_much_in_small_pieces(self):
        error = self.refused(model("kept = []\nwhile True: kept.append(torch.ones(1_000_000))"), memory_bytes=1 << 30)
        self.assertIn("memory", error.message)

    def test_complex_output(self):
        self.assertIn("complex64", self.refused(model("return torch.fft.fft(x)"), kind="limit").message)

    def test_sparse_input(self):
        source = model("return x.to_dense()") + "def get_inputs():\n    return [torch.eye(4).to_sparse()]\n"
        self.assertIn("unsupported_layout", self.refused(source, kind="limit").message)

    def test_leaving_the_process(self):
        child = shared_parent().open()
        with self.assertRaises(EOFError):
            child.load(model("import os\nos._exit(5)"))
        self.assertTrue(shared_parent().ask("hello")["ok"])

    def test_flood_of_output_disturbs_nothing(self):
        child = shared_parent().open()
        child.load(model("import os\nprint('x' * 1000000)\nos.write(1, b'y' * 100000)\nreturn x * 2"), check=True)
        child.close()


if __name__ == "__main__":
    unittest.main()
