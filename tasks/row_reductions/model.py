# SPDX-License-Identifier: Apache-2.0
"""Index of the maximum and log-sum-exp of each row."""

import torch
import torch.nn as nn

ROWS = 512
COLS = 2048


class Model(nn.Module):
    def forward(self, x):
        return {"argmax": x.argmax(dim=-1), "logsumexp": torch.logsumexp(x, dim=-1)}


def get_inputs():
    # Offset and spread differ from row to row: the log-sum-exp of equal rows would hardly vary.
    spread = torch.exp(torch.randn(ROWS, 1))
    return [spread * torch.randn(ROWS, COLS) + 5.0 * torch.randn(ROWS, 1)]


def get_init_inputs():
    return []
