# SPDX-License-Identifier: Apache-2.0
"""Weighted sums of embedding rows over bags of different length."""

import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 10000
DIM = 64
BAGS = 256
MEAN_LENGTH = 20


class Model(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, dim))

    def forward(self, indices, offsets, weights):
        return F.embedding_bag(indices, self.table, offsets, mode="sum", per_sample_weights=weights)


def get_inputs():
    # Few rows are looked up often, most of them rarely; some bags are empty.
    total = BAGS * MEAN_LENGTH
    indices = (ROWS * torch.rand(total) ** 3).long().clamp(max=ROWS - 1)
    cuts = torch.randint(0, total + 1, (BAGS - 1,)).sort().values
    offsets = torch.cat((torch.zeros(1, dtype=torch.long), cuts))
    offsets[2] = offsets[1]
    return [indices, offsets, torch.randn(total)]


def get_init_inputs():
    return [ROWS, DIM]
