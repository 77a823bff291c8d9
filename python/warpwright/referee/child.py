# SPDX-License-Identifier: Apache-2.0
"""A forked child: loads workloads of one task and answers the judge, one request at a time. Or a twin, which only spins."""

import os
import resource

import torch

from warpwright.referee import admission, baselines, flops, graph, straws, timed
from warpwright.referee.refusal import Refusal, blame_task, describe
from warpwright.referee.trees import spec
from warpwright.referee.truth import Truth
from warpwright.referee.wire import Wire
from warpwright.referee.workload import Workload


class Child:
    def __init__(self, wire, go, done, threads):
        self.wire = wire
        self.go = go
        self.done = done
        self.threads = threads
        self.workloads = {}

    def serve(self):
        while True:
            request, fds = self.wire.receive()
            if request is None:
                return
            try:
                reply = {"ok": True, **self.answer(request, fds)}
            except Refusal as refusal:
                reply = {"ok": False, "error": refusal.to_json()}
            except MemoryError:
                reply = {"ok": False, "error": {"kind": "task", "message": "out of memory", "line": None}}
            except Exception as error:  # noqa: BLE001: a fault of ours is reported, with its place
                reply = {"ok": False, "error": _unforeseen(error, request)}
            finally:
                for fd in fds:
                    os.close(fd)
            if reply.get("staged"):
                continue
            self.wire.send(reply)

    def answer(self, request, fds):
        actions = {
            "hello": self.hello, "load": self.load, "attach": self.attach, "draw": self.draw, "expect": self.expect,
            "straw": self.straw, "compile": self.compile, "stage": self.stage, "collect": self.collect,
            "capture": self.capture, "flops": self.flops,
        }
        action = actions.get(request.get("do"))
        if action is None:
            raise ValueError(f"unknown request {request.get('do')!r}")
        return action(request, fds)

    def workload(self, request):
        name = request["workload"]
        if name not in self.workloads:
            raise ValueError(f"no workload {name!r} is loaded")
        return self.workloads[name]

    def hello(self, request, fds):
        return {}

    def load(self, request, fds):
        torch.set_num_threads(self.threads)
        overrides = request.get("set", {})
        workload = Workload(request["filename"], request["source"], overrides, request["contract"], self.threads)
        if request.get("check"):
            admission.check(workload)
        self.workloads[request["workload"]] = workload
        init, skipped = _numbers(workload)
        for name in skipped:
            workload.note(f"get_init_inputs: {name} is no number and is not passed on")
        return {
            "inputs": workload.input_specs,
            "weights": [spec(item.name, item.tensor) for item in workload.weights],
            "outputs": workload.output_specs,
            "mutates": list(workload.contract["mutates"]),
            "init": init,
            "tree": workload.output_tree.to_json(),
            "input_tree": workload.input_tree.to_json(),
            "straws": straws.names(workload),
            "notes": workload.notes,
        }

    def attach(self, request, fds):
        if len(fds) != 1:
            raise ValueError(f"attach wants the arena's descriptor, got {len(fds)}")
        self.workload(request).attach(fds[0], os.fstat(fds[0]).st_size, request["layout"])
        return {}

    def draw(self, request, fds):
        self.workload(request).draw(request["input_seed"], request["weight_seed"], request["pattern"])
        return {}

    def expect(self, request, fds):
        workload = self.workload(request)
        outputs = workload.outputs(workload.run())
        workload.write(outputs, workload.expected)
        workload.settle()
        finite = all(bool(view.isfinite().all()) for view in workload.expected if view.is_floating_point())
        return {"finite": finite, "truth_available": bool(request["truth"]) and self._truth(workload)}

    def _truth(self, workload):
        try:
            if workload.truth is None:
                workload.truth = Truth(workload)
            workload.write(workload.truth.outputs(), workload.truth_views)
        except Exception as error:  # noqa: BLE001: an operator without float64, a module that cannot be copied, ...
            workload.note(f"no truth in double precision: {describe(error)}")
            return False
        return True

    def straw(self, request, fds):
        workload = self.workload(request)
        try:
            workload.write(straws.make(workload, request["name"]), workload.other)
        except straws.Skip as skip:
            return {"skipped": str(skip)}
        except Refusal as refusal:
            # A straw's values may be outside what the task accepts.
            return {"skipped": refusal.message}
        return {"skipped": None}

    def compile(self, request, fds):
        return baselines.compile_side(self.workload(request), request["side"])

    def stage(self, request, fds):
        side = request["side"]
        workload = None if side == "spin" else self.workload(request)
        call = self._call(workload, side, request)
        result, error = timed.stage(self.go, self.done, request["sequence"], call, lambda: self.wire.send({"ok": True}))
        if workload is not None:
            workload.last = (result, error)
        return {"staged": True}

    def _call(self, workload, side, request):
        if side == "spin":
            duration = request["spin_us"]
            return lambda: timed.spin(duration)
        workload.settle()
        # An eager user has let go of the last result by now, and its memory is free for the next.
        workload.last = None
        workload.prepare_run()
        workload.dirty = True
        if side != "eager":
            return baselines.compiled_call(workload, side)
        positional, named = workload.arguments
        return lambda: workload.model(*positional, **named)

    def collect(self, request, fds):
        workload = self.workload(request)
        if workload.last is None:
            raise ValueError("no staged call to collect")
        result, error = workload.last
        if error is not None:
            with blame_task(workload.filename, "forward"):
                raise error
        workload.write(workload.outputs(result), {"expected": workload.expected, "other": workload.other}[request["into"]])
        workload.settle()
        return {}

    def capture(self, request, fds):
        return {"graph": graph.capture(self.workload(request))}

    def flops(self, request, fds):
        return {"flops": flops.count(self.workload(request))}


# Until a task is attached it may hold anything: what we did not foresee in it is not judged, and no fault.
_BEFORE_ADMISSION = ("load", "attach")


def _unforeseen(error, request):
    place = error.__traceback__
    while place.tb_next is not None:
        place = place.tb_next
    message = f"{describe(error)} ({os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno})"
    if request.get("do") in _BEFORE_ADMISSION:
        return Refusal("limit", f"unsupported: {message}").to_json()
    return {"kind": "fault", "message": message, "line": None}


def _numbers(workload):
    """Constructor arguments that are numbers or lists of them, and the names of the others."""
    init = workload.init
    names = list(init) if isinstance(init, dict) else workload.constructor_names(len(init))
    values = list(init.values()) if isinstance(init, dict) else init
    kept, skipped = [], []
    for name, value in zip(names, values, strict=True):
        parts = value if isinstance(value, (list, tuple)) and value else [value]
        if all(isinstance(part, (bool, int, float)) and abs(part) < 2**63 for part in parts):
            kept.append({"name": name, "value": list(value) if isinstance(value, tuple) else value})
        else:
            skipped.append(name)
    return kept, skipped


def _limit_memory(limit_bytes):
    """Private memory only: an allocation beyond it raises, where the kernel would kill."""
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))


def serve(request, socket, go, done):
    """The child's whole life; returns where the judge has closed the socket."""
    # Task code prints; nobody reads it. Its input is empty.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    threads = request["threads"]
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    if request.get("memory_bytes"):
        _limit_memory(request["memory_bytes"])
    Child(Wire(socket), go, done, threads).serve()
    os._exit(0)
