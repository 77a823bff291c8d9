# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x.mul_(2.0)


def get_inputs():
    return [torch.randn(64, 32)]


def get_init_inputs():
    return []
