"""Which wrapper is around each line of an input, by its first lines.

What one looks like is a row of `grammars/envelopes.toml`. Records are recognised in the first
lines: before each of them is one wrapper, or one in another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from tflogscope.digits import whole
from tflogscope.grammar.envelopes import Envelope
from tflogscope.grammar.model import Grammar
from tflogscope.sources.envelopes import Chain
from tflogscope.sources.repairs import records_of, repairs_of

_LOOKED_AT = 100  # records of the first lines
_DEEPEST = 4
_LEAST_SHARE = 10  # one in so many records is behind the wrapper, if there is one
_LEAST_WIDTH, _LEAST_FULL = 40, 3  # columns, and lines that fill them


def recognise(head: bytes, grammar: Grammar) -> tuple[Envelope, ...] | None:
    """The wrappers of an input, from the outside in, by its first lines; last what to repair.

    None: no record is in these lines. Empty: records are as they were written.
    """
    wrappers = _recognise(head, grammar)
    opened = Chain(wrappers).head(head) if wrappers else ()
    repairs = repairs_of(b"".join(batch.text for batch in opened) if wrappers else head, grammar)
    if not repairs:
        return wrappers
    name = ", ".join(dict.fromkeys(repair.name for repair in repairs))
    return (*(wrappers or ()), Envelope("repaired", name, "", "", repairs=repairs))


def _recognise(head: bytes, grammar: Grammar) -> tuple[Envelope, ...] | None:
    records = [match.start() for match in islice(records_of(grammar).finditer(head), _LOOKED_AT)]
    if not records:
        return None
    if pasted := _pasted(head, grammar):
        return (pasted,)
    begins = [head.rfind(b"\n", 0, place) + 1 for place in records]
    behind = [(begin, place) for begin, place in zip(begins, records, strict=True) if begin < place]
    least = max(len(records) / _LEAST_SHARE, min(2, len(records)))
    if len(behind) < least:
        return ()
    chains = Counter(
        _peel(head[begin : head.find(b"\n", begin)], place - begin, grammar, _DEEPEST)
        for begin, place in behind
    )
    del chains[None]
    chain, count = chains.most_common(1)[0] if chains else ((), 0)
    if not chain or count < least:
        return _alike(head, behind) if len(behind) == len(records) else ()
    if len(chain) == 1 and _counts_lines(head, chain[0]):
        chain = (replace(chain[0], name="line numbers", streams=(), rank=""),)
    if _CTEST.search(head):  # `36: ` is the number of a test
        chain = tuple(replace(envelope, name=CTEST, streams=(), rank="") for envelope in chain)
    inner = _pasted(b"".join(batch.text for batch in Chain(chain).head(head)), grammar)
    return (*chain, inner) if inner else chain


# CTest cmCTestRunTest.cxx, StartTest and EndTest: its own lines around those of a test.
CTEST = "ctest -V"
_CTEST = re.compile(rb"(?m)^(?:test \d+$| +Start +\d+: |\d+: Test command: |\d+/\d+ Test +#\d+: )")
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


def _alike(head: bytes, behind: Sequence[tuple[int, int]]) -> tuple[Envelope, ...]:
    """A wrapper that no row describes: the same before each record, but for digits and padding."""
    prefixes = {head[begin:place] for begin, place in behind}
    if not any(_COLOUR.sub(b"", prefix) for prefix in prefixes):
        return _colours(head)
    quoted = [begin for begin, place in behind if head[begin:place].endswith(b'"')]
    if any(head[begin : head.find(b"\n", begin)][-1:] != b'"' for begin in quoted):
        return ()  # more than the text is in the line
    alike = {
        re.sub(rb" +0", b" 0", re.sub(rb"[0-9]+", b"0", prefix.removesuffix(b'"')))
        for prefix in prefixes
    }
    shape, *others = (prefix.decode("utf-8", "replace") for prefix in alike)
    # Digits at the end could be the record's. `$` has a meaning in templates.
    if others or len(behind) < _LEAST_FULL or shape.endswith("0") or "$" in shape:
        return ()
    template = shape.replace(" 0", "$_0").replace("0", "${n:uint}") + '$["$]' * bool(quoted)
    before = Envelope("alike", "a prefix, the same on each line", "", "", head=template)
    quotes = Envelope("escaped", "quotes", "", "", escapes=((b'"\n', b"\n"), (b'""', b'"')))
    return (before, *_colours(head), *([quotes] if quoted else []))


def _colours(head: bytes) -> tuple[Envelope, ...]:
    """Colour codes in a text; those behind a record would be part of it."""
    colours = tuple((colour, b"") for colour in sorted({*_COLOUR.findall(head)}))
    return (Envelope("escaped", "colours", "", "", escapes=colours),) if colours else ()


_HTML = {b"&quot;": b'"', b"&#x27;": b"'", b"&#39;": b"'", b"&lt;": b"<", b"&gt;": b">"}
_ESCAPES = {  # the first of each is in all logs of some lines, and `&` is the last to be put back
    "HTML": _HTML | {b"&amp;": b"&"},
    "Markdown": {b"\\_": b"_", b"\\*": b"*", b"\\[": b"[", b"\\]": b"]"},
    "typographic quotes": {"“".encode(): b'"', "”".encode(): b'"'},
}


def _pasted(head: bytes, grammar: Grammar) -> Envelope | None:
    """What a page or a chat made of a text: each of a character is escaped, or lines are folded."""
    for name, escapes in _ESCAPES.items():
        escaped, plain = next(iter(escapes.items()))
        if escaped in head and plain not in head.replace(escaped, b""):
            return Envelope("escaped", name, "", "", escapes=tuple(escapes.items()))
    return _folded(head, grammar)


def _counts_lines(head: bytes, envelope: Envelope) -> bool:
    """Whether what would be a rank is the number of the line: each is one more than the last."""
    if not envelope.rank:
        return False
    matches = map(envelope.pattern.match, head.split(b"\n")[:_LOOKED_AT])
    at = 1 + envelope.asked.index(envelope.rank)
    ranks = [whole(match[at]) for match in matches if match]
    first = ranks[0] if len(ranks) > _LEAST_FULL else None
    return first is not None and ranks == [*range(first, first + len(ranks))]


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
        if envelope.is_object and line.startswith((b"{", b'"')):
            text = (envelope.read(line.decode()) or ("",))[0].encode("utf-8", "backslashreplace")
            if record := records_of(grammar).search(text):
                rest = _peel(text.split(b"\n")[0], record.start(), grammar, depth - 1)
        elif (
            not envelope.is_object
            and (match := envelope.pattern.match(line))
            and 0 < match.end() <= upto
        ):
            rest = _peel(line[match.end() :], upto - match.end(), grammar, depth - 1)
        if rest is not None:
            return (envelope, *rest)
    return None
