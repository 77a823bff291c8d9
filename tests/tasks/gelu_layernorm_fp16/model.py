# SPDX-License-Identifier: Apache-2.0
"""GELU and layer normalisation under the fp16 contract."""

import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 512
DIM = 1024


class Model(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)

    def forward(self, x):
        return self.norm(F.gelu(x))


def get_inputs():
    return [2.0 * torch.randn(ROWS, DIM) + torch.randn(ROWS, 1)]


def get_init_inputs():
    return [DIM, 1e-5]
