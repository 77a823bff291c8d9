# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, count, factor, negate):
        y = x * factor + count
        return -y if negate else y


def get_inputs():
    return [torch.randn(64, 32), int(torch.randint(1, 9, ())), float(torch.rand(())), bool(torch.rand(()) > 0.5)]


def get_init_inputs():
    return []
