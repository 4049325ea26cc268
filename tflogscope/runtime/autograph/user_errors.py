"""Errors raised while a function is traced, told with the user's lines only: `ValueError: in user
code: …`.

Converted code keeps the positions of the original, so a frame of it is a place in the user's file.
Of each converted function that was being called, the innermost place is told. TensorFlow:
autograph/pyct/error_utils.py.
"""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Iterator
from types import FrameType

from tflogscope.runtime.errors import (
    InaccessibleTensorError,
    OperatorNotAllowedInGraphError,
    OpError,
)

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

_HELPER = re.compile(
    r"(if_body|else_body|loop_body|loop_test|extra_test|get_state|set_state)(_\d+)?|<lambda>"
)
_CONVERTED = "around."  # what converted code is compiled in

PREFIX = "tf__"
"""What the names of converted functions begin with."""

Place = tuple[str, int, str]


class _LinesKeyError(KeyError):
    """A KeyError whose text is shown as it is."""

    def __str__(self) -> str:
        return str(self.args[0])


def translated(error: Exception) -> Exception | None:
    """The error again, with the story of the user's code as its text; None if it has none or can't
    be made again.
    """
    places = list(_places(error))
    if not places:
        return None
    cause: str = getattr(error, "_cause", None) or f"{type(error).__name__}: {error}"
    lines = ["in user code:", ""]
    for path, line, name in places:
        lines.append(f'    File "{path}", line {line}, in {name}  *')
        lines.append(f"        {linecache.getline(path, line).strip()}")
    lines += ["", *(f"    {line}" for line in cause.split("\n")), ""]
    result = _again(error, "\n".join(lines))
    if result is not None:
        result.__dict__["_cause"] = cause
    return result


def _again(error: Exception, message: str) -> Exception | None:
    if isinstance(error, OpError):
        return type(error)(error.node_def, error.op, message)
    if isinstance(error, KeyError):
        return _LinesKeyError(message)
    return type(error)(message) if type(error) in _RETOLD else None


def _places(error: Exception) -> Iterator[Place]:
    """From the outside in: for each call of a converted function, the last place it came to."""
    last: Place | None = None
    caller = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_qualname.startswith(_CONVERTED):
            if last and caller == "converted_call":
                yield last
            last = frame.f_code.co_filename, line, _user_name(frame)
        caller = frame.f_code.co_name
    if last:
        yield last


def _user_name(frame: FrameType) -> str:
    names = frame.f_code.co_qualname.split(".<locals>.")[1:]
    names[0] = names[0].removeprefix(PREFIX)
    kept = [name for name in names if not _HELPER.fullmatch(name)]
    return kept[-1].rpartition(".")[2] if kept else names[0]
