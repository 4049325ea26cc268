"""What can go wrong, as one class tree.

Each error says what happened, where, and what to do, and carries the exit code of the command line
(spec section 4). `cli.main` maps them once; nothing else in the program ends the process.
"""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from os import PathLike

_ELSEWHERE = "Use a file in a directory that you can write to."
_HINTS = {
    errno.EACCES: _ELSEWHERE,
    errno.EPERM: _ELSEWHERE,
    errno.EROFS: _ELSEWHERE,
    errno.ENOENT: "Create its directory first.",
    errno.ENOSPC: "Nothing was written. Free some space, or use a file on another disk.",
}


class TflogscopeError(Exception):
    """Base of all expected errors: `what` happened, `where`, and what to do (`hint`)."""

    exit_code = 4

    def __init__(self, what: str, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"\n{self.hint}" if self.hint else ""
        return f"{place}{self.what}{advice}"


class UsageError(TflogscopeError):
    """The command was called in a way that can't work."""

    exit_code = 2


class QueryError(UsageError):
    """A condition or a statement of the user's is wrong at one place of its text."""

    def __init__(self, what: str, text: str, place: int, hint: str | None = None) -> None:
        super().__init__(what, hint=hint)
        self.text = text
        self.place = place

    def __str__(self) -> str:
        begin = self.text.rfind("\n", 0, self.place) + 1
        line = self.text[begin:].split("\n", 1)[0]
        return f"{super().__str__()}\n{line}\n{' ' * (self.place - begin)}^"


class PolicyError(UsageError):
    """A policy is wrong. `example` is one that works."""

    def __init__(self, error: UsageError, example: str) -> None:
        super().__init__(error.what, error.where, error.hint)
        self.example = example


class OutputError(UsageError):
    """An output file exists already, or can't be written."""


@contextmanager
def writable(path: PathLike[str], otherwise: str | None = None) -> Iterator[None]:
    """Raise OutputError where the system refuses to write a file; `otherwise` says what to do."""
    try:
        yield
    except OSError as error:
        hint = _HINTS.get(error.errno or 0, otherwise)
        raise OutputError(f"can't write: {error.strerror or error}", str(path), hint) from error


class InputError(TflogscopeError):
    """An input can't be read."""

    exit_code = 3


class NothingRecognised(InputError):
    """The input was read, and no record in it is of TensorFlow or oneDNN."""


class TflogscopeWarning(UserWarning):
    """Something was left out; all else is as it should be."""


def is_damage(error: BaseException) -> bool:
    """Whether this is what polars says of a file of a store that is not as it was written."""
    return str(error).startswith(("parquet: ", "unable to decode the encoded schema"))


class GrammarError(TflogscopeError):
    """A grammar file is wrong: the grammar, not the log, has to be fixed."""

    exit_code = 2


def did_you_mean(name: str, names: Collection[str], otherwise: str = "", most: int = 1) -> str:
    """The hint where nothing has a name: names like it, or else which there are."""
    from difflib import get_close_matches  # few runs need it

    near = get_close_matches(name, dict.fromkeys(names), n=most, cutoff=0.5)
    there = otherwise or f"Available: {', '.join(names)}."
    return f"Did you mean {' or '.join(near)}?" if near else there
