# SPDX-License-Identifier: Apache-2.0
"""A chain of elementwise operations on two tensors of equal shape."""

import torch
import torch.nn as nn

ROWS = 512
COLS = 1024


class Model(nn.Module):
    def __init__(self, coefficients):
        super().__init__()
        self.a, self.b, self.c = coefficients

    def forward(self, x, y):
        h = self.a * x + self.b * y
        h = h * torch.sigmoid(h) + self.c * torch.tanh(y)
        return torch.where(x > 0, h, 0.1 * h).clamp(-4.0, 12.0)


def get_inputs():
    # Scales differ from row to row, so that no constant and no single row stands for the rest.
    scale = torch.exp(torch.randn(ROWS, 1))
    return [scale * torch.randn(ROWS, COLS), torch.randn(ROWS, COLS)]


def get_init_inputs():
    return [[0.75, -1.25, 0.5]]
