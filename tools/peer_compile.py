# SPDX-License-Identifier: Apache-2.0
"""The peer of `judge --baseline compile`: what torch itself takes, from a cold process, to its first compiled call."""

import importlib.util
import sys

import torch


def main():
    spec = importlib.util.spec_from_file_location("reference", sys.argv[1])
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    model = torch.compile(reference.Model(*reference.get_init_inputs()))
    with torch.no_grad():
        model(*reference.get_inputs())


main()
