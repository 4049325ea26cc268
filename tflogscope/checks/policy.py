"""The policy: what a run must keep to, read from TOML.

`[tool.tflogscope.check]` in pyproject.toml, or a file of its own. What is not named has its
default; `functions."PATTERN"` tables say otherwise for the functions whose names match.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tflogscope.checks import values
from tflogscope.checks.files import is_file, read_whole
from tflogscope.errors import PolicyError, UsageError, did_you_mean

_TABLE = ("tool", "tflogscope", "check")
_FUNCTIONS = "functions"
_HINT = "Pass a policy with --policy."
_LARGEST = 1_000_000  # bytes
# Keys of so many parts are no policy's, and tomllib's time grows with their square.
_PART = rb"""(?:[\w-]++|"(?:[^"\\\n]|\\.){0,200}+"|'[^'\n]{0,200}+')"""
_DEEP = re.compile(rb"(?<![\w-])(?:%s[ \t]*+\.[ \t]*+){100}" % _PART)
EXAMPLE = """\
[tool.tflogscope.check]
unexpected_eager = 0
allow_eager_ops = ["*Summary*"]
allow_eager_at = ["train.py:42"]
max_retraces = 3

[tool.tflogscope.check.functions."train_*"]
max_retraces = 0"""


class PolicySection(NamedTuple):
    """The keys that a table of the policy names; `pattern` None: the policy's own table."""

    pattern: str | None
    named: Mapping[str, Any]

    def matches(self, function: str | None) -> bool:
        """Whether it holds for a function, named without uid; None: for what belongs to none."""
        if self.pattern is None:
            return True
        return function is not None and fnmatchcase(function, self.pattern)


class Policy(NamedTuple):
    """Sections in the order in which they are asked: those for functions, then the policy's own."""

    name: str  # where it is from, for people
    sections: tuple[PolicySection, ...]

    def section(self, key: str, function: str | None) -> PolicySection:
        """Return what says a key for a function: the first that matches and names it."""
        return next(
            section
            for section in self.sections
            if key in section.named and section.matches(function)
        )

    def value(self, key: str, function: str | None) -> Any:
        """Return what holds for a function."""
        return self.section(key, function).named[key]

    def checked(self, key: str) -> list[PolicySection]:
        """Sections that check something by a key: None and an empty list check nothing."""
        return [section for section in self.sections if section.named.get(key) not in (None, ())]

    def belong(self, key: str, section: PolicySection, functions: pl.Series) -> pl.Series:
        """Which functions (None: what belongs to none) a section says a key for."""
        mine = [name for name in functions.unique() if self.section(key, name) is section]
        named = [name for name in mine if name is not None]
        return functions.is_in(named).fill_null(None in mine)


def default_policy() -> Policy:
    """What a team wants without writing a policy."""
    return Policy("default policy", (PolicySection(None, values.DEFAULTS),))


def find_policy(directory: Path) -> Policy:
    """The policy of the nearest tflogscope.toml, or pyproject.toml with a table for it.

    They are looked for from `directory` upwards. As ruff does, the first of both comes first in a
    folder, and files without the table are skipped; without any, it is the default policy.

    Raises:
        UsageError: a file on the way is not TOML, or a key or value of the table is wrong.
    """
    for folder in (directory, *directory.parents):
        if is_file(file := folder / "tflogscope.toml"):
            return _read(file, os.path.relpath(file, directory))
        path = folder / "pyproject.toml"
        if is_file(path) and b"tflogscope" in read_whole(path, _HINT, _LARGEST):
            name = os.path.relpath(path, directory)
            table = _own_table(_document(path), name)
            if table is not None:
                return _policy(name, table)
    return default_policy()


def read_policy(path: Path) -> Policy:
    """The policy of a file: its `[tool.tflogscope.check]`, or its whole text where it has none.

    Raises:
        InputError: can't be read.
        UsageError: it is not TOML, or a key or value is wrong.
    """
    return _read(path, str(path))


def _read(path: Path, name: str) -> Policy:
    document = _document(path)
    table = _own_table(document, name)
    return _policy(name, document if table is None else table)


def _document(path: Path) -> dict[str, Any]:
    import tomllib

    data = read_whole(path, _HINT, _LARGEST)
    too_deep = UsageError("nested too deeply", str(path), "Fix the file.")
    if _DEEP.search(data):
        raise too_deep
    try:
        return tomllib.loads(data.decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"not TOML: {error}", str(path), "Fix the file.") from error
    except RecursionError as error:
        raise too_deep from error


def _own_table(document: Mapping[str, Any], where: str) -> dict[str, Any] | None:
    """The policy's table of a document, None if there is none."""
    tool = document.get("tool")
    ours = tool.get("tflogscope") if isinstance(tool, dict) else None
    if ours is None:
        return None
    if not isinstance(ours, dict):
        raise UsageError("tool.tflogscope is not a table", where, f"Write [{'.'.join(_TABLE)}].")
    for name in ours:
        if name != "check":
            raise _unknown(name, ("check",), f"{where}, [tool.tflogscope]")
    table = ours.get("check")
    if table is not None and not isinstance(table, dict):
        raise UsageError(
            "tool.tflogscope.check is not a table", where, f"Write [{'.'.join(_TABLE)}]."
        )
    return table


def _policy(where: str, table: Mapping[str, Any]) -> Policy:
    try:
        return _tested(where, table)
    except UsageError as error:
        raise PolicyError(error, EXAMPLE) from error


def _tested(where: str, table: Mapping[str, Any]) -> Policy:
    rest = {key: value for key, value in table.items() if key != _FUNCTIONS}
    functions = table.get(_FUNCTIONS, {})
    tables = functions.values() if isinstance(functions, dict) else [functions]
    if not all(isinstance(part, dict) for part in tables):
        hint = f'Write [tool.tflogscope.check.{_FUNCTIONS}."train_*"] and its keys below.'
        raise UsageError(f"{_FUNCTIONS} needs a table for each pattern", where, hint)
    sections = []
    for pattern, named in functions.items():
        place = f'{where}, {_FUNCTIONS}."{pattern}"'
        for key in named:
            if key in values.KEYS and values.KEYS[key].of_a_log:
                hint = "Put it outside the tables for functions."
                raise UsageError(f"{key} applies to the whole log, not to a function", place, hint)
        sections.append(PolicySection(pattern, _checked(named, place)))
    keys = {**values.DEFAULTS, **_checked(rest, where, (_FUNCTIONS,))}
    return Policy(where, (*sections, PolicySection(None, keys)))


def _checked(
    named: Mapping[str, Any], where: str, others: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """The values of a table as they are used, each tested."""
    for key in named:
        if key not in values.KEYS:
            raise _unknown(key, (*values.KEYS, *others), where)
    return {key: values.KEYS[key].test(value, f"{where}, {key}") for key, value in named.items()}


def _unknown(key: str, keys: tuple[str, ...], where: str) -> UsageError:
    return UsageError(f"unknown key {key!r}", where, did_you_mean(key, keys))
