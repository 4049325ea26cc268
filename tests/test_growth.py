"""Patterns for what a log may hold take time in proportion to its bytes.

What goes back over the same bytes would need hours for a text of a megabyte, and not a moment.
"""

from __future__ import annotations

import re
import time
from re import _constants as kinds  # type: ignore[attr-defined]  # typeshed has it not
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from tflogscope.grammar.envelopes import Envelope, _pattern
from tflogscope.grammar.load import load_grammar, packaged_toml
from tflogscope.grammar.template import fields_of
from tflogscope.model.findings.recording import _FRAME
from tflogscope.recording.pass_on import PassOn
from tflogscope.sources.repairs import Repair, rows_of

GRAMMAR = load_grammar()
HEADS = [each for each in GRAMMAR.envelopes.values() if each.head]
_LONG = 1 << 20
_LINE = 60_000  # where a square is over a second, and a line takes a hundredth of one


def giving_back(parsed: Any) -> list[Any]:
    """The parts of a pattern that take any number of characters, and may give some back."""
    found = []
    for kind, given in parsed:
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT) and given[1] == kinds.MAXREPEAT:
            found.append(given)
        inner = given[1] if kind is kinds.BRANCH else given if isinstance(given, tuple) else ()
        # An atomic group gives back once, while it is matched.
        found += [each for part in inner for each in _of(part) if kind is not kinds.ATOMIC_GROUP]
    return found


def _of(part: Any) -> list[Any]:
    return giving_back(part) if isinstance(part, parser.SubPattern) else []


def test_what_gives_back_is_found() -> None:
    for pattern in ("a*", "(?:b|(a+?))", "(?:ab*)?", "(?:a+b)++"):
        assert giving_back(parser.parse(pattern)), pattern
    assert not giving_back(parser.parse("(?:a++b*+|c?[de]{3})++(?>f*g)"))


@pytest.mark.parametrize("envelope", HEADS, ids=lambda each: each.id)
def test_no_field_of_a_head_gives_back(envelope: Envelope) -> None:
    assert not giving_back(parser.parse(envelope.pattern.pattern))


@pytest.mark.parametrize("envelope", HEADS, ids=lambda each: each.id)
def test_a_head_with_a_long_field_is_read_in_no_time(envelope: Envelope) -> None:
    names = [name for name, _ in fields_of(envelope.tokens)]
    pattern = re.compile(_pattern(envelope.tokens, names))
    for sample in envelope.samples:
        line = sample.line.encode()
        head = pattern.match(line)
        assert head
        for number in range(1, len(names) + 1):
            start, end = head.span(number)
            for grown in (head[number] or b"")[:1], (head[number] or b"")[-1:], b" ", b"1", b"a1":
                long = grown * (_LONG // max(len(grown), 1))
                if start >= 0:
                    pattern.match(line[:start] + long + line[end:])
                    pattern.match(line[:start] + long)


@pytest.mark.parametrize("repair", rows_of(GRAMMAR), ids=lambda each: each.id)
def test_a_repair_of_a_long_line_takes_no_time(repair: Repair) -> None:
    samples = [
        text.encode()
        for row in packaged_toml("repairs.toml")["repair"]
        if row["id"] == repair.id
        for text in [row["sample"][0], row["near_miss"]]
    ]
    for line in samples:
        edges = [match.start() for match in re.finditer(rb"\b|(?<=\W)(?=\W)", line)]
        broken = [at for at in edges if b"\n" in line[max(at - 4, 0) : at + 4]]
        for at in dict.fromkeys([*edges[:5], *broken, *edges[-5:]]):
            for grown in (line[at : at + 1], b" ", b"a", b"1", b"\\n", b'\\"', b",", b'"'):
                for rest in (line[at:], b""):
                    text = line[:at] + grown * (_LINE // max(len(grown), 1)) + rest
                    began = time.process_time()
                    for pattern in filter(None, (repair.pattern, repair.unless)):
                        pattern.search(text)
                    assert time.process_time() - began < 1, (line[:at], grown, rest)


def test_blank_lines_behind_a_traceback_take_no_time() -> None:
    began = time.process_time()
    assert not _FRAME.findall("\n" * _LINE)
    assert time.process_time() - began < 1


def test_a_name_before_a_number_keeps_its_digits() -> None:
    read = GRAMMAR.envelopes["torchrun"].read
    assert read("[a1b22]:x") == ("x", ("22",))
    assert read("[7b22]:x") == ("x", ("22",))
    assert read("[worker-3-0]:x") == ("x", ("0",))
    assert read("[default]:x") is None


@pytest.mark.parametrize(
    "head",
    [
        "",
        "2026-11-28 18:03:02.916000: I tensorflow/core/x.cc:12] ",
        "W0000 00:00:1795889415.028196   32051 x.cc:12] ",
        "onednn_verbose,v1,primitive,exec,cpu,",
        "tflogscope op 1 1 ",
        "Traceback (most recent call last):\n  ",
        "node {\n  ",
        "2026-11-28 18:03:02.916000: W tensorflow/core/x.cc:12] INTERNAL: \n",
    ],
)
def test_what_record_passes_on_takes_no_longer_for_long_lines(head: str) -> None:
    """Pieces as a pipe gives them: 256 kB of each takes some 20 ms."""
    for grown in (" ", "\t", "a", "1", ".", ": ", "}", "  a {\n", "x.cc:1", '  File "x", line '):
        text = (head + grown * (_LONG // 4 // len(grown)) + "\n").encode()
        passed = PassOn(lambda _: None, lambda _: None)
        began = time.process_time()
        for start in range(0, len(text), 1 << 16):
            passed.feed(text[start : start + (1 << 16)])
        assert time.process_time() - began < 1, grown
