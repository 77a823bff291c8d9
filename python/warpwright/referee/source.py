# SPDX-License-Identifier: Apache-2.0
"""A task's source as a fresh module, with module-level constants overridden before anything uses them."""

import ast
import itertools
import linecache
import sys
import types

from warpwright.referee.refusal import blame_task, task_fault

_numbers = itertools.count()


def load_module(filename, source, overrides):
    """The executed module. Refuses with the line where the source is at fault."""
    source = source.removeprefix("\ufeff")
    tree = _parse(filename, source)
    for name, value in overrides.items():
        _override(tree, name, value)
    # Two workloads of one file are different modules. inspect.getsource, which torch uses, finds the text by file name.
    module = types.ModuleType(f"ww_task_{next(_numbers)}")
    module.__file__ = filename
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    sys.modules[module.__name__] = module
    with blame_task(filename, "the file"):
        exec(compile(ast.fix_missing_locations(tree), filename, "exec"), module.__dict__)
    for name in ("Model", "get_inputs"):
        if not callable(getattr(module, name, None)):
            raise task_fault(f"the file defines no {name}")
    return module


def _parse(filename, source):
    try:
        return ast.parse(source, filename)
    except SyntaxError as error:
        raise task_fault(f"syntax error: {error.msg}", error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise task_fault(f"cannot be parsed: {error}") from error


def _override(tree, name, value):
    places = [statement for statement in tree.body if _assigned(statement) == name]
    if not places:
        known = sorted({_assigned(s) for s in tree.body if _assigned(s) and _is_constant(s.value)})
        raise task_fault(f"set names {name}, but the file has no module-level constant of that name"
                         + (f" (it has {', '.join(known)})" if known else ""))
    for statement in places:
        if not _is_constant(statement.value):
            raise task_fault(f"set names {name}, which is not a constant: its value is computed", statement.lineno)
        replacement = tuple(value) if isinstance(statement.value, ast.Tuple) and isinstance(value, list) else value
        node = ast.parse(repr(replacement), mode="eval").body
        for part in ast.walk(node):
            ast.copy_location(part, statement.value)
        statement.value = node


def _assigned(statement):
    """The name that `NAME = value` or `NAME: type = value` assigns, or None."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


_LITERALS = (ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)


def _is_constant(value):
    return all(isinstance(part, _LITERALS) for part in ast.walk(value))
