"""The keys of a policy: which there are, what each may be, and what it is if it is not named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tflogscope.errors import UsageError
from tflogscope.model.unexpected import ALWAYS_CAUSES, USUAL_CAUSES

# Why an op runs eagerly (docs/causes.md).
EAGER_CAUSES = (
    *USUAL_CAUSES,
    *ALWAYS_CAUSES,
    "gradient-tape",
    "control-flow",
    "outside-function",
    "unknown",
)
_AFTER = ("first-call", "start")
_MOST = 2**31  # of anything that is counted


def _number(value: Any, where: str) -> int:
    """Test a count."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise _impossible(value, where, "a whole number, 0 or more")
    return value


def _share(value: Any, where: str) -> float:
    """Test a share."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _impossible(value, where, "a share from 0 to 1: 0.9 for 90 %")
    return float(value)


def _number_or_share(value: Any, where: str) -> int | float:
    """Test a limit: a whole number is a count, a number with a point is a share."""
    if isinstance(value, float) and 0 <= value <= 1:
        return value
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise _impossible(value, where, "a count such as 10, or a share such as 0.01")
    return value


def _patterns(value: Any, where: str) -> tuple[str, ...]:
    """Test a list of names; `*`, `?` and `[…]` in them match as in a shell."""
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        example = f": [{value!r}]" if isinstance(value, str) and value else ""
        raise _impossible(value, where, f"a list of names in quotes{example}")
    return tuple(value)


def _causes(value: Any, where: str) -> tuple[str, ...]:
    """Test a list of cause ids."""
    named = _patterns(value, where)
    for each in named:
        if each not in EAGER_CAUSES:
            raise _no_such(each, where, EAGER_CAUSES, "cause")
    return named


def _after(value: Any, where: str) -> str:
    """Test where counting begins."""
    if value not in _AFTER:
        raise _no_such(value, where, _AFTER, "place to count from")
    return str(value)


@dataclass(frozen=True)
class Key:
    """A key of the policy: how a value is tested, the default, and what it is about."""

    test: Callable[[Any, str], Any]
    default: Any  # None and () check nothing
    about: str


KEYS: Mapping[str, Key] = {
    "unexpected_eager": Key(_number, 0, "Ops that ran eagerly where a graph should run them"),
    "allow_eager_causes": Key(_causes, USUAL_CAUSES, "Causes for which an op may run eagerly"),
    "allow_eager_ops": Key(_patterns, (), "Ops that may run eagerly"),
    "after": Key(_after, "first-call", "Where counting eager executions begins"),
    "max_retraces": Key(_number, None, "How often a function was traced again"),
    "min_rewritten": Key(_share, None, "Share of what oneDNN could run that it did run"),
    "forbid_implementations": Key(_patterns, (), "oneDNN implementations that must not run"),
    "require_kernels": Key(_patterns, (), "Kernels that must run"),
    "max_unlinked": Key(_number_or_share, None, "Runs of oneDNN that no execution is known for"),
    "max_unknown": Key(_number_or_share, None, "Records of unknown form"),
}
DEFAULTS: Mapping[str, Any] = {name: key.default for name, key in KEYS.items()}
OF_A_LOG = ("max_unknown",)  # a line that nobody can read belongs to no function


def _impossible(value: Any, where: str, wanted: str) -> UsageError:
    return UsageError(f"{value!r} is not a valid value", where, f"It must be {wanted}.")


def _no_such(value: Any, where: str, known: tuple[str, ...], kind: str) -> UsageError:
    near = get_close_matches(str(value), known, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
    return UsageError(f"there is no {kind} {value!r}", where, hint)
