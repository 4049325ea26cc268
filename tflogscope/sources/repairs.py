"""Lines as people paste them: the known texts inside are found, and written as in a log.

What is done to such lines is in the rows of `grammars/repairs.toml`. An input is repaired only if
its first lines show much more of what ran when they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.model import SEVERITIES, SEVERITY, SHAPE_DIGITS, Grammar

_ENOUGH = 1 << 18  # bytes of the first lines, if they show anything that ran
_LEAST_SHARE = 10  # one in so many lines of what ran is read thanks to a repair
_DEVICE = r"(?:/[a-z]+:[^/\s]+)*/device:[A-Za-z_]+:\d+"
_DISPATCH = rf"Executing op \S+ in device {_DEVICE}"
_STARTS_AND_ENDS = r"(?:Process node|Synchronous kernel done|Async kernel done)"
_NODE = (
    rf"{_STARTS_AND_ENDS}: \d+ step -?\d+ \{{\{{node [^\n]*\}}\}} = "
    rf"\w+\[[^\n]*\)(?: is dead:?)? +device: {_DEVICE}"
)
_PLACE = rf"[^\s()]+: \(\w+\):? ?{_DEVICE}"
# What a problem can be, before a time whose decimal comma looks like one more field.
_PROBLEM = r"(?:(?:mb|g|ic|sl|l)\d[^,\n]*+|\d++(?:[x:]\d++)++[^,\n]*+|\d++)"
_HINTS = (b"Executing op ", b"Process node: ", b"kernel done: ", b"exec,", b"): /job:", b")/job:")


class Repair(NamedTuple):
    """One thing to do to all lines: a pattern and what is put in its place, so many times."""

    id: str
    name: str
    pattern: re.Pattern[bytes]
    replacement: bytes
    repeat: int
    escapes: tuple[tuple[bytes, bytes], ...]
    unless: re.Pattern[bytes] | None

    def apply(self, text: bytes) -> bytes:
        """Text with its lines repaired; there are as many as before."""
        for _ in range(self.repeat):
            text, count = self.pattern.subn(self.replacement, text)
            if not count:
                break
        for escaped, plain in self.escapes:
            text = text.replace(escaped, plain)
        return text


def repairs_of(head: bytes, grammar: Grammar) -> tuple[Repair, ...]:
    """What to do to the lines of an input, by its first ones; nothing, if they are as written."""
    record, marker = record_patterns(grammar)
    enough = head[: head.rfind(b"\n", 0, _ENOUGH) + 1]
    if any(map(enough.count, _HINTS)):
        head = enough
    hints = sum(map(head.count, _HINTS))
    if len(_known(record, marker, "^").findall(head)) >= hints:
        return ()
    pattern = _known(record, marker)
    before = len(pattern.findall(head))
    if before >= hints:
        return ()
    used, text = list[Repair](), head
    for repair in rows_of(grammar):
        if repair.pattern.search(text) and not (repair.unless and repair.unless.search(head)):
            used.append(repair)
            text = repair.apply(text)
    after = len(pattern.findall(text))
    gained = after > before and (after - before) * _LEAST_SHARE >= after
    return tuple(used) if gained else ()


def records_of(grammar: Grammar) -> re.Pattern[bytes]:
    """How a record, or a line of oneDNN, begins."""
    record, _ = record_patterns(grammar)
    return re.compile("|".join([record, *map(re.escape, grammar.markers.literals)]).encode())


def record_patterns(grammar: Grammar) -> tuple[str, str]:
    """How a record begins, and how a line of oneDNN does."""
    kinds = dict.fromkeys(SHAPE_DIGITS, "[0-9]") | {SEVERITY: SEVERITIES}
    shapes = [
        "".join(kinds.get(letter, re.escape(letter)) for letter in prefix.shape)
        for prefix in grammar.prefixes.values()
    ]
    markers = [literal.rstrip(",") for literal in grammar.markers.literals if literal.endswith(",")]
    return f"(?:{'|'.join(shapes)})", f"(?:{'|'.join(map(re.escape, markers))})"


@cache
def _known(record: str, marker: str, begin: str = "") -> re.Pattern[bytes]:
    """A record that says what ran, up to the end of its line; other text may be before it."""
    site = r"(?: *\d+ )?(?![A-Za-z]:[\\/])\S*\b"
    whole = rf"{record}{site}(?:execute\.cc:\d+\] {_DISPATCH}|executor\.cc:\d+\] {_NODE}|"
    whole += rf"placement:\d+\] {_PLACE})"
    comma = rf"(?![^\n]*,{_PROBLEM},\d+,\d[0-9e+-]*$)"
    verbose = rf"{marker},(?:[^,\n]*,){{0,4}}exec,{comma}(?:[^,\n]*,){{3,}}[0-9][0-9.e+-]*"
    return re.compile(f"{begin}(?:{whole}|{verbose})$".encode(), re.MULTILINE)


def rows_of(grammar: Grammar) -> Sequence[Repair]:
    """The rows of `grammars/repairs.toml`, in their order."""
    return _rows(*record_patterns(grammar))


@cache
def _rows(record: str, marker: str) -> Sequence[Repair]:
    return [*_read(record, marker)]


def _read(record: str, marker: str) -> Iterator[Repair]:
    names = {"record": record, "marker": marker, "text": f"(?:{record}|{marker},)"}
    names |= {"dispatch": _DISPATCH, "node": _NODE, "place": _PLACE, "problem": _PROBLEM}

    def compiled(pattern: str) -> re.Pattern[bytes]:
        whole = re.sub(r"\{([a-z]+)\}", lambda name: names[name[1]], pattern)
        return re.compile(whole.encode(), re.MULTILINE)

    for row in packaged_toml("repairs.toml")["repair"]:
        escapes = [(one.encode(), other.encode()) for one, other in row.get("escapes", ())]
        yield Repair(
            row["id"],
            row["name"],
            compiled(row["pattern"]),
            row["replacement"].encode(),
            row.get("repeat", 1),
            tuple(escapes),
            compiled(row["unless"]) if "unless" in row else None,
        )
