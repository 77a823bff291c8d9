# SPDX-License-Identifier: Apache-2.0
"""Rotary position embedding of queries and keys; the tables are buffers."""

import torch
import torch.nn as nn

BATCH = 2
HEADS = 8
KEY_HEADS = 2
TOKENS = 256
HEAD_DIM = 64


class Model(nn.Module):
    def __init__(self, tokens, head_dim, base):
        super().__init__()
        frequency = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        angle = torch.outer(torch.arange(tokens).float(), frequency)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def rotate(self, x):
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * self.cos - second * self.sin, second * self.cos + first * self.sin), dim=-1)

    def forward(self, query, key):
        return self.rotate(query), self.rotate(key)


def get_inputs():
    return [torch.randn(BATCH, HEADS, TOKENS, HEAD_DIM), torch.randn(BATCH, KEY_HEADS, TOKENS, HEAD_DIM)]


def get_init_inputs():
    return [TOKENS, HEAD_DIM, 10000.0]
