# SPDX-License-Identifier: Apache-2.0
"""What torch counts as work."""

import unittest

from .test_workload import Case, single


class Flops(Case):
    def count(self, source):
        return self.start(source).ask("flops", workload="w")["flops"]

    def test_a_product_counts_two_for_each_multiply_add(self):
        self.assertEqual(self.count(single("return x @ x", {"x": "torch.randn(8, 8)"})), 2 * 8**3)

    def test_attention_counts_its_two_products(self):
        forward = "return torch.nn.functional.scaled_dot_product_attention(x, x, x)"
        self.assertEqual(self.count(single(forward, {"x": "torch.randn(1, 2, 16, 4)"})), 2 * 2 * 2 * 16 * 16 * 4)

    def test_elementwise_work_counts_nothing(self):
        self.assertEqual(self.count(single("return x.exp() + 1", {"x": "torch.randn(8)"})), 0)


if __name__ == "__main__":
    unittest.main()
