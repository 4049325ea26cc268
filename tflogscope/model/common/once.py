"""What several parts of the model ask of one run is worked out once, and kept with the run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Of = TypeVar("_Of")
_Found = TypeVar("_Found")


def once(function: Callable[[_Of], _Found]) -> Callable[[_Of], _Found]:
    """A function of one object (`Events`, `Evidence`, a run …), called once for each."""

    @wraps(function)
    def kept(of: _Of) -> _Found:
        values: dict[Callable[[_Of], _Found], Any] = of.__dict__.setdefault("_once", {})
        if function not in values:
            values[function] = function(of)
        return values[function]  # type: ignore[no-any-return]

    return kept
