# SPDX-License-Identifier: Apache-2.0
"""The warm parent: torch imported once, no parallel region ever run, one forked child per task."""

import ctypes
import os
import platform
import select
import signal
import time

import torch

from warpwright.referee import child
from warpwright.referee.wire import Wire

PROTOCOL = 1
PR_SET_PDEATHSIG = 1


class Parent:
    def __init__(self, fd):
        self.wire = Wire(fd)
        self.ended = []
        self.wake_read, self.wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.libc = ctypes.CDLL(None)

    def serve(self):
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        waiting = select.poll()
        waiting.register(self.wire.fileno(), select.POLLIN)
        waiting.register(self.wake_read, select.POLLIN)
        while True:
            ready = [fd for fd, _ in waiting.poll()]
            self.reap()
            if self.wire.fileno() not in ready:
                continue
            request, fds = self.wire.receive()
            if request is None:
                return
            self.wire.send(self.answer(request, fds))

    def answer(self, request, fds):
        actions = {"hello": self.hello, "prepare": self.prepare, "open": self.open, "reaped": self.reaped}
        action = actions.get(request.get("do"))
        try:
            if action is None:
                raise ValueError(f"unknown request {request.get('do')!r}")
            return {"ok": True, **action(request, fds)}
        except Exception as error:  # noqa: BLE001: the parent outlives every request
            return {"ok": False, "error": {"kind": "fault", "message": f"{type(error).__name__}: {error}", "line": None}}
        finally:
            for fd in fds:
                os.close(fd)

    def hello(self, request, fds):
        return {"protocol": PROTOCOL, "torch": torch.__version__.split("+")[0], "python": platform.python_version()}

    def prepare(self, request, fds):
        """Imports what torch.compile needs and lets it find out which vector instructions work here; children inherit it."""
        start = time.monotonic()
        signal.set_wakeup_fd(-1)
        try:
            from warpwright.referee import baselines

            instructions = baselines.prepare_compiler()
        finally:
            signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        return {"seconds": time.monotonic() - start, "vector_instructions": instructions}

    def open(self, request, fds):
        if len(fds) != 3:
            raise ValueError(f"open wants 3 descriptors, got {len(fds)}")
        pid = os.fork()
        if pid == 0:
            try:
                self.become_child()
                child.serve(request, *fds)
            finally:
                os._exit(70)
        return {"pid": pid}

    def become_child(self):
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self.wake_read)
        os.close(self.wake_write)
        self.wire.close()

    def reaped(self, request, fds):
        self.reap()
        ended, self.ended = self.ended, []
        return {"ended": ended}

    def reap(self):
        try:
            os.read(self.wake_read, 4096)
        except BlockingIOError:
            pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            self.ended.append({"pid": pid, "exit": code if code >= 0 else None, "signal": -code if code < 0 else None})


def serve(fd):
    Parent(fd).serve()
