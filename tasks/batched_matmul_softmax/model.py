# SPDX-License-Identifier: Apache-2.0
"""Attention weights: softmax(scale * a @ b transposed), batched."""

import math

import torch
import torch.nn as nn

BATCH = 8
ROWS = 128
COLS = 128
INNER = 64


class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, a, b):
        return torch.softmax(torch.matmul(a, b.transpose(-2, -1)) * self.scale, dim=-1)


def get_inputs():
    # Rows of a differ in size, so that some rows of the result are sharp and some flat.
    spread = torch.exp(0.5 * torch.randn(BATCH, ROWS, 1))
    return [2.0 * spread * torch.randn(BATCH, ROWS, INNER), torch.randn(BATCH, COLS, INNER)]


def get_init_inputs():
    return [1.0 / math.sqrt(INNER)]
