# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, bias):
        return x * 2.0 if bias is None else x * 2.0 + bias


def get_inputs():
    return [torch.randn(64, 32), None]


def get_init_inputs():
    return []
