# SPDX-License-Identifier: Apache-2.0
"""Precision and seeds: what the contract fixes on every side."""

import hashlib
import random

import numpy
import torch

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def apply_precision(contract):
    """Task code may turn these switches, so they are set again before every run."""
    allow = contract["precision"] == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = allow
    torch.backends.cudnn.allow_tf32 = allow
    torch.set_float32_matmul_precision("highest")
    torch.set_default_dtype(torch.float32)


def derived_seed(purpose, seed):
    """63 bits. Different purposes never yield the same seed, so weights cannot repeat the inputs' draw."""
    digest = hashlib.sha256(f"{purpose}:{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def seed_everything(seed):
    torch.manual_seed(seed)
    numpy.random.seed(seed % (1 << 32))
    random.seed(seed)


def generator_states():
    """The states of every generator that a forward might draw from, comparable with ==."""
    kind, keys, *rest = numpy.random.get_state()
    return torch.get_rng_state().numpy().tobytes(), (kind, keys.tobytes(), *rest), random.getstate()
