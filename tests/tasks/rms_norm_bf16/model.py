# SPDX-License-Identifier: Apache-2.0
"""RMS normalisation under the bf16 contract."""

import torch
import torch.nn as nn

BATCH = 4
TOKENS = 128
DIM = 1024


class Model(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


def get_inputs():
    # A few channels are far larger than the rest, as in activations of language models.
    channel = torch.exp(0.7 * torch.randn(DIM))
    return [channel * torch.randn(BATCH, TOKENS, DIM)]


def get_init_inputs():
    return [DIM, 1e-6]
