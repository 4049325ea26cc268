"""Where in the user's program an op was called: what errors say of a node, and of a function that
was being traced.

Of the stack only the user's frames are kept. Code that AutoGraph converted is compiled with the
positions of the original, so a frame of it is a place in the user's file; only its name has to be
translated. Told about: `util/tf_stack.py` (`extract_stack`, `get_user_frames`).
"""

from __future__ import annotations

import linecache
import re
import sys
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

__all__ = [
    "AROUND",
    "LAMBDA",
    "PREFIX",
    "Frame",
    "called_from",
    "is_converted",
    "is_runtimes",
    "is_users",
    "out_of_scope",
    "text",
    "user_name",
]

Frame = tuple[str, int, str]
"""File, line, function."""

AROUND = "ag__around"
"""The function that converted code is compiled in."""
LAMBDA = "<lambda>"
PREFIX = "tf__"
"""What the names of converted functions begin with."""

_HELPER = re.compile(
    r"(if_body|else_body|loop_body|loop_test|extra_test|get_state|set_state)(_\d+)?|<\w+>"
)
_LIBRARY = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
_INSTALLED = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))
_RUNTIME = str(Path(__file__).parent)


def is_runtimes(path: str) -> bool:
    """Whether a file is part of the runtime."""
    return path.startswith(_RUNTIME)


@lru_cache(maxsize=1024)
def is_users(path: str) -> bool:
    """Whether a file is part of neither the runtime nor Python itself."""
    library = path.startswith(("<frozen", *_LIBRARY)) and not path.startswith(_INSTALLED)
    return not library and not is_runtimes(path)


def called_from() -> tuple[Frame, ...]:
    """The user's frames of the stack as it is now, from the outside in; the outermost is that of
    the program, or of the thread.
    """
    frames = []
    frame = sys._getframe(1)  # noqa: SLF001 - a tenth of the time of `inspect.stack`
    while frame is not None:
        code = frame.f_code
        if is_users(code.co_filename):
            name = user_name(code)
            times = 1 if name else 2  # TensorFlow converts a lambda to one lambda in another
            frames += [(code.co_filename, frame.f_lineno, name)] * times
            if code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__":
                break
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(reversed(frames))


def is_converted(code: CodeType) -> bool:
    """Whether AutoGraph made it of the user's code."""
    return code.co_qualname.startswith(f"{AROUND}.")


@lru_cache(maxsize=1024)
def user_name(code: CodeType) -> str:
    """The name of the user's function that the code is, or was made of; "" for a lambda that was
    converted.
    """
    if not is_converted(code):
        return code.co_name
    names = code.co_qualname.split(".<locals>.")[1:]
    names[0] = names[0].removeprefix(PREFIX)
    kept = [name for name in names if not _HELPER.fullmatch(name)]
    return kept[-1].rpartition(".")[2] if kept else names[0].replace(LAMBDA, "")


def out_of_scope(tensor: Any, where: str) -> str:
    """What is said of a tensor of a graph that can't be used where it was. Told about:
    `FuncGraph._validate_in_scope`, `tfe_wrapper.cc`. NB: eagerly TensorFlow shows its own
    frames too.
    """
    return (
        f"{tensor!r} is out of scope and cannot be used here. Use return values, explicit Python "
        "locals or TensorFlow collections to access it.\nPlease see "
        "https://www.tensorflow.org/guide/function"
        "#all_outputs_of_a_tffunction_must_be_return_values for more information.\n\n"
        f"{tensor!r} was defined here:\n{text(tensor.op.frames)}\n\n"
        f"The tensor {tensor!r} cannot be accessed from {where}, because it was defined in "
        f"{tensor.op.graph}, which is out of scope."
    )


def text(frames: Iterable[Frame]) -> str:
    """Frames as errors print them: the place, and the line of code if there is one."""
    told = []
    for path, line, name in frames:
        told.append(f'    File "{path}", line {line}, in {name}')
        if code := linecache.getline(path, line).strip():
            told.append(f"      {code}")
    return "\n".join(told)
