# SPDX-License-Identifier: Apache-2.0
"""One timed call: wait for the judge's go, run, write the done record (docs/formats/referee.md). Nothing else in between."""

import gc
import os
import struct
import time

import torch

DONE_RECORD = struct.Struct("<Qqii")
TOKEN_BYTES = 8


def timed_call(go, done, sequence, call):
    """Blocks until released. Returns (result, error): exactly one is None unless the call returned None."""
    read, write, clock, pack = os.read, os.write, time.perf_counter_ns, DONE_RECORD.pack
    error = None
    with torch.no_grad():
        read(go, TOKEN_BYTES)
        start = clock()
        try:
            result = call()
            write(done, pack(sequence, clock() - start, 0, 0))
        except BaseException as caught:  # noqa: BLE001: task code may raise anything; the judge waits for a record
            write(done, pack(sequence, clock() - start, 1, 0))
            result, error = None, caught
    return result, error


# Above torch's grain of 32768 elements an operator uses all threads.
_PARALLEL_ELEMENTS = 1 << 17
_parallel_work = None


def spin(duration_us):
    """Busy on all threads for a given time by its own clock: the trusted twin of a call of torch operators."""
    global _parallel_work
    clock = time.perf_counter_ns
    end = clock() + int(duration_us * 1000)
    if _parallel_work is None:
        _parallel_work = torch.zeros(_PARALLEL_ELEMENTS)
    while clock() < end:
        _parallel_work.add_(1)


def stage(go, done, sequence, call, reply):
    """`reply` tells the judge that all is ready; the collector, off meanwhile, would cost milliseconds in a call."""
    gc.disable()
    try:
        reply()
        return timed_call(go, done, sequence, call)
    finally:
        gc.enable()
