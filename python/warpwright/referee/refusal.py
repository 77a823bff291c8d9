# SPDX-License-Identifier: Apache-2.0
"""Why a request is refused: the task's fault, a named limit, or a fault of ours."""

import contextlib


class Refusal(Exception):
    """kind: "task", "limit" or "fault"; line: in the task's source, or None."""

    def __init__(self, kind, message, line=None):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.line = line

    def to_json(self):
        return {"kind": self.kind, "message": self.message, "line": self.line}


def task_fault(message, line=None):
    return Refusal("task", message, line)


def limit(name, message, line=None):
    return Refusal("limit", f"{name}: {message}", line)


LONGEST_MESSAGE = 600


def printable(text):
    """Task code chooses texts: neither control characters nor halves of characters leave this process."""
    return "".join(character if character.isprintable() else "?" for character in text)


def describe(error):
    """"ValueError: text", one line, cut to a readable length, safe for a terminal."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001: a task's exception may be unable to describe itself
        text = "(no text)"
    text = printable(text)
    if len(text) > LONGEST_MESSAGE:
        text = text[:LONGEST_MESSAGE] + " ..."
    name = printable(type(error).__name__)
    return f"{name}: {text}" if text else name


def line_in(error, filename):
    """The deepest line of `filename` in the error's traceback, or None."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


@contextlib.contextmanager
def blame_task(filename, what):
    """Runs task code: whatever it raises, SystemExit and KeyboardInterrupt included, is the task's fault."""
    try:
        yield
    except Refusal:
        raise
    except BaseException as error:  # noqa: BLE001: task code may raise anything
        verb = "exits" if isinstance(error, SystemExit) else "raises"
        raise task_fault(f"{what} {verb} {describe(error)}", line_in(error, filename)) from error
