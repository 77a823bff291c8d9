# SPDX-License-Identifier: Apache-2.0
"""Group normalisation over (N, C, H, W), then SiLU."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 64
HEIGHT = 32
WIDTH = 32
GROUPS = 8


class Model(nn.Module):
    def __init__(self, groups, channels, eps):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, eps=eps)

    def forward(self, x):
        return F.silu(self.norm(x))


def get_inputs():
    channel = torch.exp(0.5 * torch.randn(CHANNELS, 1, 1))
    return [channel * torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) + torch.randn(CHANNELS, 1, 1)]


def get_init_inputs():
    return [GROUPS, CHANNELS, 1e-5]
