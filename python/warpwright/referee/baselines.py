# SPDX-License-Identifier: Apache-2.0
"""torch.compile as a baseline: compiled once per workload and side, graph breaks and recompilations counted."""

import functools
import os
import subprocess
import time

import torch

from warpwright.referee.refusal import Refusal, describe, limit

MODES = {"compile": None, "compile_max": "max-autotune"}


def prepare_compiler():
    """Imports torch.compile's parts and settles which vector instructions it may use; needs no parallel region, so a parent
    may do it before it forks. Returns the instructions' name."""
    import torch._dynamo
    import torch._inductor.codegen.cpp
    import torch._inductor.compile_fx
    from torch._inductor import cpp_builder, cpu_vec_isa

    # torch asks the processor first, then builds ATen's vector headers for each set, loading every library into a new
    # Python: 10-25 s. What is left to find out is whether the compiler knows the flags.
    cpu_vec_isa.VecISA.check_build = lambda isa, code: _compiler_takes(cpp_builder.get_cpp_compiler(), isa._arch_flags)
    return str(cpu_vec_isa.pick_vec_isa())


@functools.cache
def _compiler_takes(compiler, flags):
    command = [compiler, *flags.split(), "-x", "c++", "-fsyntax-only", os.devnull]
    return subprocess.run(command, capture_output=True, timeout=60).returncode == 0


def compile_side(workload, side):
    """Compiles and calls twice; the second call shows a recompilation."""
    if side not in MODES:
        raise ValueError(f"unknown side {side!r}")
    prepare_compiler()
    from torch._dynamo.utils import counters

    counters.clear()
    # Static shapes: each workload is a compilation of its own, and a second one must not become a dynamic first.
    compiled = torch.compile(workload.model, mode=MODES[side], dynamic=False)
    start = time.monotonic()
    _call(workload, compiled)
    seconds = time.monotonic() - start
    graphs = counters["stats"]["unique_graphs"]
    _call(workload, compiled)
    workload.compiled[side] = (compiled, list(workload.inputs))
    return {
        "seconds": seconds,
        "graphs": graphs,
        "breaks": sum(counters["graph_break"].values()),
        "recompiles": counters["stats"]["unique_graphs"] - graphs,
    }


def compiled_call(workload, side):
    """The compiled forward on the present tensors and the numbers it was compiled for. A number is a constant of the
    compilation: another one would be compiled anew (a second), or made symbolic (and then not vectorised), within a timed
    call; a user whose numbers stay pays neither."""
    if side not in workload.compiled:
        raise ValueError(f"{side} is not compiled")
    compiled, leaves = workload.compiled[side]
    positional, named = workload.nested_arguments(leaves, workload.placed_inputs.tensors)
    return lambda: compiled(*positional, **named)


def _call(workload, compiled):
    positional, named = workload.arguments
    workload.prepare_run()
    workload.dirty = True
    try:
        with torch.no_grad():
            compiled(*positional, **named)
    except Refusal:
        raise
    except BaseException as error:  # noqa: BLE001: whatever torch.compile makes of the task
        raise limit("compile_failed", describe(error)) from error
    finally:
        workload.settle()
