# SPDX-License-Identifier: Apache-2.0
"""A 2-d convolution with bias, then ReLU."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
IN_CHANNELS = 16
OUT_CHANNELS = 32
HEIGHT = 56
WIDTH = 56
KERNEL = [3, 3]
STRIDE = 1
PADDING = 1


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel, stride, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, tuple(kernel), stride=stride, padding=padding)

    def forward(self, x):
        return F.relu(self.conv(x))


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING]
