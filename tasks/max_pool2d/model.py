# SPDX-License-Identifier: Apache-2.0
"""2-d max pooling with padding."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 32
HEIGHT = 56
WIDTH = 56
KERNEL = 3
STRIDE = 2
PADDING = 1


class Model(nn.Module):
    def __init__(self, kernel, stride, padding):
        super().__init__()
        self.kernel = kernel
        self.stride = stride
        self.padding = padding

    def forward(self, x):
        return F.max_pool2d(x, self.kernel, stride=self.stride, padding=self.padding)


def get_inputs():
    # All-negative maps are common enough that padding with zeros instead of -inf shows at the border.
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) - 1.5]


def get_init_inputs():
    return [KERNEL, STRIDE, PADDING]
