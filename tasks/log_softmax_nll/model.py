# SPDX-License-Identifier: Apache-2.0
"""Log-softmax and negative log-likelihood: the mean loss and the loss of each row."""

import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 256
CLASSES = 4096


class Model(nn.Module):
    def forward(self, logits, targets):
        losses = F.nll_loss(F.log_softmax(logits, dim=-1), targets, reduction="none")
        return losses.mean(), losses


def get_inputs():
    spread = 2.0 * torch.exp(0.5 * torch.randn(ROWS, 1))
    # Low classes are frequent, high ones rare.
    targets = (CLASSES * torch.rand(ROWS) ** 3).long().clamp(max=CLASSES - 1)
    return [spread * torch.randn(ROWS, CLASSES), targets]


def get_init_inputs():
    return []
