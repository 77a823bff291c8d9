# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return x * 2.0 + y


def get_inputs():
    x = torch.randn(64, 32)
    return [x, x]


def get_init_inputs():
    return []
