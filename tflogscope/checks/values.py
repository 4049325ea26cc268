"""The keys of a policy: which there are, what each may be, and what it is if it is not named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tflogscope.errors import UsageError, did_you_mean
from tflogscope.grammar.load import packaged_toml
from tflogscope.model.causes.rules import cause_grammar, causes_that_count
from tflogscope.model.common.sentences import Sentences, Words

_AFTER = ("first-call", "start")
_MOST = 2**31  # of anything that is counted


def _number(value: Any, where: str) -> int:
    """Test a count."""
    if not _is_count(value):
        raise _impossible(value, where, "a whole number, 0 or more")
    return int(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST


def _share(value: Any, where: str) -> float:
    """Test a share."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _impossible(value, where, "a share from 0 to 1: 0.9 for 90 %")
    return float(value)


def _number_or_share(value: Any, where: str) -> int | float:
    """Test a limit: a whole number is a count, a number with a point is a share."""
    if isinstance(value, float) and 0 <= value <= 1:
        return value
    if not _is_count(value):
        raise _impossible(value, where, "a count such as 10, or a share such as 0.01")
    return int(value)


def _patterns(value: Any, where: str) -> tuple[str, ...]:
    """Test a list of names; `*`, `?` and `[…]` in them match as in a shell."""
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        example = f": [{value!r}]" if isinstance(value, str) and value else ""
        raise _impossible(value, where, f"a list of names in quotes{example}")
    return tuple(value)


def _causes(value: Any, where: str) -> tuple[str, ...]:
    """Test a list of cause ids."""
    named = _patterns(value, where)
    causes = tuple(cause_grammar().causes)
    for cause in named:
        if cause not in causes:
            raise _no_such(cause, where, causes, "cause")
    return named


def _after(value: Any, where: str) -> str:
    """Test where counting begins."""
    if value not in _AFTER:
        raise _no_such(value, where, _AFTER, "place to count from")
    return str(value)


VALUES: Mapping[str, Callable[[Any, str], Any]] = {
    "number": _number,
    "share": _share,
    "number-or-share": _number_or_share,
    "patterns": _patterns,
    "causes": _causes,
    "after": _after,
}
"""How the value of a key is tested, by the name of what it may be."""


class Key(NamedTuple):
    """A key of the policy: a row of `grammars/sentences/checks.toml`, which says what is what."""

    id: str
    about: str
    value: str
    default: Any = None  # None and () check nothing
    of_a_log: bool = False
    text: Sentences = ""
    more: Sentences = ""
    violation: Sentences = ""
    advice: Sentences = ""
    cannot: str = ""
    record: str = ""

    def test(self, value: Any, where: str) -> Any:
        """The value as it is used. Raises UsageError if it is impossible."""
        return VALUES[self.value](value, where)


_CONTENT = packaged_toml("sentences/checks.toml")
WORDS = Words(_CONTENT["phrases"])
KEYS: Mapping[str, Key] = {row["id"]: Key(**row) for row in _CONTENT["key"]}
_WITHOUT: Mapping[str, Any] = {"patterns": (), "causes": causes_that_count("never")}
DEFAULTS: Mapping[str, Any] = {
    id_: _WITHOUT.get(key.value) if key.default is None else key.default
    for id_, key in KEYS.items()
}


def _impossible(value: Any, where: str, wanted: str) -> UsageError:
    return UsageError(f"{_quoted(value)} is not a valid value", where, f"It must be {wanted}.")


def _no_such(value: Any, where: str, names: tuple[str, ...], kind: str) -> UsageError:
    text = _quoted(value)
    hint = did_you_mean(value if isinstance(value, str) else text, names)
    return UsageError(f"no {kind} {text}", where, hint)


def _quoted(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # Python prints no number of more than 4,300 digits
        return "a number with thousands of digits"
