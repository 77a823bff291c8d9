# SPDX-License-Identifier: Apache-2.0
"""Softmax over the last dimension."""

import torch
import torch.nn as nn

ROWS = 512
COLS = 1024


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    # Rows range from nearly flat to nearly one-hot, with an offset that overflows exp() unless the maximum is taken off.
    spread = torch.exp(torch.randn(ROWS, 1))
    return [spread * torch.randn(ROWS, COLS) + 100.0 * torch.randn(ROWS, 1)]


def get_init_inputs():
    return []
