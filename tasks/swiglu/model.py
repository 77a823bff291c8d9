# SPDX-License-Identifier: Apache-2.0
"""SwiGLU feed-forward block: silu(x @ gate) * (x @ up) @ down, without biases."""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 128
DIM = 256
HIDDEN = 512


class Model(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def get_inputs():
    return [2.0 * torch.randn(TOKENS, DIM)]


def get_init_inputs():
    return [DIM, HIDDEN]
