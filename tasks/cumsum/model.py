# SPDX-License-Identifier: Apache-2.0
"""Inclusive running sum along the last dimension."""

import torch
import torch.nn as nn

ROWS = 256
COLS = 2048


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=-1)


def get_inputs():
    return [torch.randn(ROWS, COLS)]


def get_init_inputs():
    return []
