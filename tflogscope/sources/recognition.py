"""Which launcher, container or CI put something around each line of an input, by its first lines.

What a wrapper looks like is a row of `grammars/envelopes.toml`. Records are recognised in the first
lines: before each of them is one wrapper, or one in another.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import islice

from tflogscope.grammar.envelopes import Envelope
from tflogscope.grammar.model import SEVERITIES, SEVERITY, SHAPE_DIGITS, Grammar
from tflogscope.sources.envelopes import Chain

_LOOKED_AT = 100  # records of the first lines
_DEEPEST = 4
_LEAST_SHARE = 10  # one in so many records is behind the wrapper, if there is one
_LEAST_WIDTH, _LEAST_FULL = 40, 3  # columns, and lines that fill them


def records_of(grammar: Grammar) -> re.Pattern[bytes]:
    """How a record, or a line of oneDNN, begins."""
    kinds = dict.fromkeys(SHAPE_DIGITS, "[0-9]") | {SEVERITY: SEVERITIES}
    shapes = [
        "".join(kinds.get(letter, re.escape(letter)) for letter in prefix.shape)
        for prefix in grammar.prefixes.values()
    ]
    return re.compile("|".join([*shapes, *map(re.escape, grammar.markers.literals)]).encode())


def recognise(head: bytes, grammar: Grammar) -> tuple[Envelope, ...] | None:
    """The wrappers of an input, from the outside in, by its first lines.

    None: no record is in these lines. Empty: records are as they were written.
    """
    records = [each.start() for each in islice(records_of(grammar).finditer(head), _LOOKED_AT)]
    if not records:
        return None
    if folded := _folded(head, grammar):
        return (folded,)
    begins = [head.rfind(b"\n", 0, place) + 1 for place in records]
    behind = [(begin, place) for begin, place in zip(begins, records, strict=True) if begin < place]
    least = max(len(records) / _LEAST_SHARE, min(2, len(records)))
    if len(behind) < least:
        return ()
    found = Counter(
        _peel(head[begin : head.find(b"\n", begin)], place - begin, grammar, _DEEPEST)
        for begin, place in behind
    )
    del found[None]
    chain, count = found.most_common(1)[0] if found else ((), 0)
    if not chain or count < least:
        return ()
    if len(chain) == 1 and _counts_lines(head, chain[0]):
        chain = (replace(chain[0], name="line numbers", streams=(), rank=""),)
    inner = _folded(Chain(chain).open(head).text, grammar)
    return (*chain, inner) if inner else chain


def _counts_lines(head: bytes, envelope: Envelope) -> bool:
    """Whether what would be a rank is the number of the line: each is one more than the last."""
    if not envelope.rank:
        return False
    matches = map(envelope.pattern.match, head.split(b"\n")[:_LOOKED_AT])
    at = 1 + envelope.asked.index(envelope.rank)
    ranks = [int(match[at]) for match in matches if match]
    return len(ranks) > _LEAST_FULL and ranks == [*range(ranks[0], ranks[0] + len(ranks))]


def _folded(head: bytes, grammar: Grammar) -> Envelope | None:
    """Lines as a terminal or a chat folds them: no line is longer, and full ones go on.

    Behind a full line there is hardly ever the begin of a record, as there is behind others.
    """
    lines = head.decode("utf-8", "replace").split("\n")[:-1]
    lengths = [len(line) for line in lines]
    width = max(lengths, default=0)
    full = [at for at, length in enumerate(lengths[:-1]) if length == width]
    if width < _LEAST_WIDTH or len(full) < max(_LEAST_FULL, len(lines) / _LEAST_SHARE):
        return None
    records = records_of(grammar)
    begins = [records.match(line.encode()) is not None for line in lines]
    behind = sum(begins[at + 1] for at in full)
    if behind > len(full) / _LEAST_SHARE or 2 * sum(begins) < len(records.findall(head)):
        return None
    name = f"lines folded at {width} columns"
    return Envelope("folded", name, "Text of a terminal or a chat.", "", width=width)


def _peel(line: bytes, upto: int, grammar: Grammar, depth: int) -> tuple[Envelope, ...] | None:
    """The wrappers before a place of a line; None if something else is there, too."""
    if upto == 0:
        return ()
    for envelope in grammar.envelopes.values() if depth else ():
        rest = None
        if envelope.text and line.startswith(b"{"):
            text = (envelope.read(line.decode()) or ("",))[0].encode("utf-8", "backslashreplace")
            if record := records_of(grammar).search(text):
                rest = _peel(text.split(b"\n")[0], record.start(), grammar, depth - 1)
        elif envelope.head and (match := envelope.pattern.match(line)) and 0 < match.end() <= upto:
            rest = _peel(line[match.end() :], upto - match.end(), grammar, depth - 1)
        if rest is not None:
            return (envelope, *rest)
    return None
