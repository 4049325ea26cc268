"""Which names a name scope may have. Told about: `VALID_SCOPE_NAME_REGEX` of `framework/ops.py`."""

from __future__ import annotations

import re

__all__ = ["check_scope_name"]

_OUTER = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_INNER = re.compile(r"[A-Za-z0-9_.\\/>-]*")


def check_scope_name(name: str, *, inner: bool) -> None:
    """Raise ValueError unless a scope may be named so; within another scope the first letter is
    freer.
    """
    pattern, kind = (_INNER, "scope") if inner else (_OUTER, "root scope")
    if not pattern.fullmatch(name):
        raise ValueError(
            f"'{name}' is not a valid {kind} name. A {kind} name has to match the following "
            f"pattern: ^{pattern.pattern}$"
        )
