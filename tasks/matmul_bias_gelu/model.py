# SPDX-License-Identifier: Apache-2.0
"""A linear layer with bias, then GELU."""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 256
IN_DIM = 512
OUT_DIM = 512


class Model(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim)

    def forward(self, x):
        return F.gelu(self.linear(x))


def get_inputs():
    return [2.0 * torch.randn(TOKENS, IN_DIM)]


def get_init_inputs():
    return [IN_DIM, OUT_DIM]
