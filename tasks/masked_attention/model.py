# SPDX-License-Identifier: Apache-2.0
"""Scaled attention with a boolean mask: query, key and value of shape (batch, heads, tokens, head_dim)."""

import torch
import torch.nn as nn

BATCH = 2
HEADS = 4
TOKENS = 128
HEAD_DIM = 64


class Model(nn.Module):
    def forward(self, query, key, value, keep, scale):
        scores = torch.matmul(query, key.transpose(-2, -1)) * scale
        scores = scores.masked_fill(~keep, float("-inf"))
        return torch.matmul(torch.softmax(scores, dim=-1), value)


def get_inputs():
    shape = (BATCH, HEADS, TOKENS, HEAD_DIM)
    # Causal, with a random third of the past hidden; every token sees itself.
    causal = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
    keep = causal & (torch.rand(BATCH, 1, TOKENS, TOKENS) > 0.33) | torch.eye(TOKENS, dtype=torch.bool)
    scale = (1.0 + float(torch.rand(()))) / HEAD_DIM**0.5
    return [torch.randn(shape), torch.randn(shape), torch.randn(shape), keep, scale]


def get_init_inputs():
    return []
