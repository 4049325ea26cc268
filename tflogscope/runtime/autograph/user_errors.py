"""Errors raised while a function is traced, told with the user's lines only: `ValueError: in user
code: …`.

Converted code keeps the positions of the original, so a frame of it is a place in the user's file.
Of each converted function that was being called, the innermost place is told. TensorFlow:
autograph/pyct/error_utils.py.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from types import CodeType

from tflogscope.runtime.autograph.transform import users_line
from tflogscope.runtime.errors import (
    InaccessibleTensorError,
    NotInThisRuntime,
    OperatorNotAllowedInGraphError,
    OpError,
)
from tflogscope.runtime.stacks import Frame, is_converted, is_users, user_name

_RETOLD: tuple[type[Exception], ...] = (
    *(
        AssertionError,
        AttributeError,
        NameError,
        NotImplementedError,
        RuntimeError,
        StopIteration,
        TypeError,
    ),
    *(UnboundLocalError, ValueError, InaccessibleTensorError, OperatorNotAllowedInGraphError),
)
"""Errors that are made of a text, and can be raised again with another."""

_CALLER = "conversion.py"
"""The file from which AutoGraph calls what it does not convert."""


class StagingError(Exception):
    """Stands for an error that can't be made again with another text."""


class _LinesKeyError(KeyError):
    """A KeyError whose text is shown as it is."""

    def __str__(self) -> str:
        return str(self.args[0])


_LinesKeyError.__name__ = KeyError.__name__


def translated(error: Exception) -> Exception | None:
    """The error again, with the story of the user's code as its text; None if it has none."""
    places = list(_places(error))
    if not places or isinstance(error, NotInThisRuntime):
        return None
    cause: str = getattr(error, "_cause", None) or f"{type(error).__name__}: {error}"
    text = ["in user code:", ""]
    for code, (path, line, name), mark in places:
        text.append(f'    File "{path}", line {line}, in {name or None}{mark}')
        text.append(f"        {users_line(code, path, line)}")
    text += ["", *(f"    {line}" for line in cause.split("\n")), ""]
    result = _again(error, "\n".join(text))
    result.__dict__["_cause"] = cause
    return result


def _again(error: Exception, message: str) -> Exception:
    kind = type(error)
    if isinstance(error, OpError):
        return type(error)(error.node_def, error.op, message)
    if kind in {KeyError, _LinesKeyError}:
        return _LinesKeyError(message)
    if kind in _RETOLD or kind.__init__ is Exception.__init__:
        return kind(message)
    return StagingError(message)


def _places(error: Exception) -> Iterator[tuple[CodeType, Frame, str]]:
    """From the outside in: for each call of a converted function, the last place it came to; at the
    end where it went from the last one, into functions that are not converted.
    """
    last: tuple[CodeType, Frame] | None = None
    beyond: list[tuple[CodeType, Frame, str]] = []
    caller = called_by = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        place = code.co_filename, line, user_name(code)
        if is_converted(code):
            if last and caller == "converted_call" and code.co_qualname.count("<locals>") == 1:
                yield *last, "  *"
            last, beyond = (code, place), []
        elif is_users(code.co_filename):
            beyond.append((code, place, "  **" if called_by.endswith(_CALLER) else ""))
        caller, called_by = code.co_name, code.co_filename
    if last:
        yield *last, "  *"
        yield from beyond
