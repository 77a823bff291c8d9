# SPDX-License-Identifier: Apache-2.0
"""Stands in for the judge: starts the referee as a plain process and speaks its protocol."""

import atexit
import math
import mmap
import os
import socket
import struct
import subprocess
import sys
import textwrap

import torch

PYTHON_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENTRY = os.path.join(PYTHON_FOLDER, "warpwright", "referee", "__main__.py")
sys.path.insert(0, PYTHON_FOLDER)

from warpwright.referee.wire import Wire  # noqa: E402

ALIGNMENT = 256
CONTRACT = {"precision": "fp32", "mode": "source", "mutates": [], "redraw_constants": True}
KEPT_BLOCKS = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_MMAP_MAX_": "0", "MALLOC_TOP_PAD_": str(64 << 20)}


class Refused(Exception):
    def __init__(self, error):
        super().__init__(f"{error['kind']}: {error['message']}")
        self.kind = error["kind"]
        self.message = error["message"]
        self.line = error["line"]


class ParentDouble:
    def __init__(self):
        ours, theirs = socket.socketpair()
        environment = {**os.environ, **KEPT_BLOCKS}
        # Descriptor 3 by way of the shell: Popen's own pass_fds keeps numbers as they are.
        os.set_inheritable(theirs.fileno(), True)
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$0" -I "$1" 3<&{theirs.fileno()}', sys.executable, ENTRY],
            env=environment, pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self.wire = Wire(ours.detach())

    def ask(self, do, **fields):
        self.wire.send({"do": do, **fields})
        return answer(self.wire)

    def open(self, threads=2, twin=False, **fields):
        ours, theirs = socket.socketpair()
        go = os.eventfd(0)
        done_read, done_write = os.pipe()
        send_with_fds(self.wire, {"do": "open", "threads": threads, "twin": twin, **fields}, [theirs.fileno(), go, done_write])
        reply = answer(self.wire)
        theirs.close()
        os.close(done_write)
        return ChildDouble(Wire(ours.detach()), go, done_read, reply["pid"])

    def close(self):
        self.wire.close()
        self.process.wait(timeout=20)


def answer(wire):
    reply, _ = wire.receive()
    if reply is None:
        raise EOFError("the referee is gone")
    if not reply["ok"]:
        raise Refused(reply["error"])
    return reply


def send_with_fds(wire, message, fds):
    import json

    payload = json.dumps(message).encode()
    socket.send_fds(wire.socket, [struct.pack("<I", len(payload)) + payload], fds)


class ChildDouble:
    def __init__(self, wire, go, done, pid):
        self.wire = wire
        self.go = go
        self.done = done
        self.pid = pid
        self.sequence = 0

    def ask(self, do, **fields):
        self.wire.send({"do": do, **fields})
        return answer(self.wire)

    def load(self, source, workload="w", contract=None, set=None, check=False):
        self.spec = self.ask("load", workload=workload, filename="model.py", source=textwrap.dedent(source),
                             set=set or {}, contract={**CONTRACT, **(contract or {})}, check=check)
        return self.spec

    def attach(self, workload="w"):
        """Lays out an arena, and keeps views of it by region."""
        layout, places, end = {}, {}, 0
        regions = {"inputs": "inputs", "weights": "weights", "expected": "outputs", "truth": "outputs", "other": "outputs"}
        for region, source in regions.items():
            layout[region] = []
            places[region] = []
            for spec in self.spec[source]:
                dtype = getattr(torch, spec["dtype"])
                if spec.get("none") or (region == "truth" and not dtype.is_floating_point):
                    layout[region].append(None)
                    continue
                dtype = torch.float64 if region == "truth" else dtype
                layout[region].append(end)
                places[region].append((spec["name"], dtype, spec["shape"], end))
                size = math.prod(spec["shape"]) * dtype.itemsize
                end += -(-size // ALIGNMENT) * ALIGNMENT + ALIGNMENT
        memory = os.memfd_create("arena")
        os.ftruncate(memory, max(end, 4096))
        self.map = mmap.mmap(memory, 0)
        send_with_fds(self.wire, {"do": "attach", "workload": workload, "layout": layout}, [memory])
        answer(self.wire)
        os.close(memory)
        self.regions = {region: {name: self._view(*place) for name, *place in places[region]} for region in regions}
        return self

    def _view(self, dtype, shape, offset):
        count = math.prod(shape)
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(self.map, dtype=dtype, count=count, offset=offset).view(shape)

    def draw(self, input_seed=1, weight_seed=None, pattern="source", workload="w"):
        return self.ask("draw", workload=workload, input_seed=input_seed, weight_seed=weight_seed, pattern=pattern)

    def expect(self, truth=False, workload="w"):
        return self.ask("expect", workload=workload, truth=truth)

    def timed(self, side="eager", workload="w", spin_us=0):
        self.sequence += 1
        self.ask("stage", workload=workload, side=side, sequence=self.sequence, spin_us=spin_us)
        os.eventfd_write(self.go, 1)
        return struct.unpack("<Qqii", os.read(self.done, 24))

    def copies(self, region):
        return {name: view.clone() for name, view in self.regions[region].items()}

    def close(self):
        self.wire.close()
        os.close(self.go)
        os.close(self.done)


_shared = []


def shared_parent():
    """One warm parent for all tests of the process."""
    if not _shared:
        _shared.append(ParentDouble())
        atexit.register(_shared[0].close)
    return _shared[0]
