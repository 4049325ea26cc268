"""The scanner in plain Python: what `native/scanner.c` has to do, written a second time.

Slow and simple: templates are regular expressions that never go back, a log is one text, pairs are
found when all records are known. Real logs, and whatever hypothesis makes, have to give the same
from both (test_scanner.py).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tflogscope.grammar.model import SHAPE_DIGITS, Grammar
from tflogscope.grammar.template import Blank, Field, Literal, OptionalPart

PLACES, FIELDS, AHEAD, TORN = 16, 32, 4, "torn"
LARGEST = str(2**63 - 1)
UP_TO_LARGEST = "|".join(
    rf"{LARGEST[:at]}[0-{int(digit) - 1}][0-9]{{{18 - at}}}"
    for at, digit in enumerate(LARGEST)
    if digit != "0"
)
NUMBER = rf"(?>(?:[0-9]{{1,18}}|{UP_TO_LARGEST}|{LARGEST})(?![0-9]))"
COLOURS = re.compile(rb"(?:\x1b\[[0-9;]*m)+$")


def pattern_of(tokens: Any) -> str:
    """Tokens of a template as a pattern; what can't end takes nothing, and the line goes on."""
    found = ""
    for at, token in enumerate(tokens):
        if isinstance(token, Literal):
            found += re.escape(token.text)
        elif isinstance(token, Blank):
            found += " ++"
        elif isinstance(token, OptionalPart):
            flag = f"(?P<{token.flag}>)" if token.flag else ""
            found += f"(?>(?:{flag}{pattern_of(token.tokens)})?)"
        elif isinstance(token, Field):
            after = tokens[at + 1 : at + 2]
            stop = re.escape(after[0].text) if after else ""
            longest = f"(?>.*(?={stop}))" if after else ""
            bodies = {"uint": NUMBER, "int": f"-?{NUMBER}", "device": "[A-Za-z0-9_/:.*-]*+"}
            bodies |= {"text": f"(?>.*?(?={stop}))", "path": f"(?>[^ ]*?(?={stop}))"}
            found += f"(?P<{token.name}>{(bodies | {'longest': longest})[token.type]})"
    return found


def compiled(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.DOTALL)


class Hot:
    """A message that the scanner reads itself: `head` up to what is kept, `whole` to the end."""

    def __init__(self, message: Any, scan: str) -> None:
        self.name, self.table = message.id, message.hot.table
        self.role = "start" if message.hot.starts else "end"
        self.key = message.hot.starts or message.hot.ends
        head, kept, tail = message.hot.parts(scan, "")
        self.counted, self.to_end = kept is None, tail is None
        tokens = [*head, *(kept or ()), *(tail or ())]
        last = tokens[-1]
        end = "" if isinstance(last, Field) and last.type in ("text", "longest") else r"\Z"
        self.whole = compiled(pattern_of(tokens) + end)
        self.head = self.whole if self.counted else compiled(pattern_of(head))
        # What is kept ends where the rest begins: with its first literal, after the kept part.
        self.upto = compiled(pattern_of([*head, *(kept or ()), *(tail or ())[:1]]))
        self.tail = len(tail[0].text) if tail else 0


@dataclass
class Begin:
    """How a line begins: a record (`site` is set), a line that is kept (`marker`), or neither."""

    message: bytes
    dialect: str = ""
    clock: bytes | None = None
    micros: int = 0
    site: bytes | None = None
    file: str | None = None
    marker: Any = None


@dataclass
class Twin:
    """A scan of one text; what it found is in the fields."""

    grammar: Grammar
    text: bytes
    rows: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    classes: Counter[str] = field(default_factory=Counter)
    dialects: Counter[str] = field(default_factory=Counter)
    torn: int = 0

    def __post_init__(self) -> None:
        self.prefixes, needles = [], []
        classes = dict.fromkeys(SHAPE_DIGITS, "[0-9]") | {"S": "[IWEF]"}
        for prefix in self.grammar.prefixes.values():
            shape = [classes.get(letter, re.escape(letter)) for letter in prefix.shape]
            loose = f".{{{prefix.fraction}}}{''.join(shape[prefix.fraction :])}(?=.)"
            self.prefixes.append((prefix, compiled(loose), compiled(pattern_of(prefix.tokens))))
            needles.append("".join(shape))
        needles += map(re.escape, self.grammar.markers.needles)
        self.foreign = compiled("|".join(needles))
        self.hot = {
            name: [Hot(m, scan) for m in file.messages if m.hot for scan in m.hot.scans]
            for name, file in self.grammar.files.items()
        }
        self.lines = self.text.split(b"\n")
        if self.lines[-1] == b"":
            self.lines.pop()
        for self.number, line in enumerate(self.lines):  # noqa: B020 (where it has come to)
            self.scan(line)

    def scan(self, line: bytes) -> None:
        self.place, self.first = 0, "continuation" if line else "blank"
        begin = self.begin(line)
        self.dialects[begin.dialect] += begin.site is not None
        if line and self.look(begin) is TORN:
            self.torn += 1
            self.take_apart(line)
        if self.is_verbose(begin) and self.number:
            line = self.lines[self.number - 1]
            before = self.begin(line)
            if line and before.site is None and not self.is_verbose(before):
                self.rows["before"].append((self.number * PLACES, line))
        self.classes[self.first] += 1

    def is_verbose(self, begin: Begin) -> bool:
        return begin.marker is not None and begin.marker.table == "verbose"

    # ---- one line, or a piece of one -------------------------------------------------------------

    def begin(self, line: bytes) -> Begin:
        for prefix, loose, site in self.prefixes:
            if (shape := loose.match(line)) and (found := site.match(line, shape.end())):
                at = prefix.fraction
                name = re.split(rb"[/\\]", found["path"])[-1].decode("utf-8", "replace")
                file = name if name in self.grammar.files else None
                message, micros = line[found.end() :], int(line[at + 1 : at + 7])
                return Begin(message, prefix.id, line[:at], micros, found[0], file)
        kept = (m for m in self.grammar.markers.markers if line.startswith(m.literal.encode()))
        return Begin(line, marker=next(kept, None))

    def look(self, begin: Begin, torn: int = 0) -> str:
        """Keep what a line is; TORN if it has to be taken apart."""
        plain = begin.site is None
        result = self.plain(begin, torn) if plain else self.record(begin, again=bool(torn))
        if result not in (TORN, "continuation"):
            self.first = result if self.place == 0 else self.first
            self.place = min(self.place + 1, PLACES - 1)
        return result

    def plain(self, begin: Begin, torn: int) -> str:
        line, marker, at = begin.message, begin.marker, self.number * PLACES + self.place
        if not torn and self.foreign.search(line, len(marker.literal) if marker else 1):
            return TORN
        if marker is None:
            return "continuation"
        if marker.table == "verbose":
            self.rows["verbose"].append((at, torn, *line.split(b",", FIELDS - 1)))
        elif marker.table == "texts":
            self.rows["texts"].append((at, None, 0, None, marker.file, line))
        else:
            self.rows["failures"].append((at, line))
        return "continuation" if marker.table == "failures" else str(marker.literal)

    def record(self, begin: Begin, *, again: bool) -> str:
        message, at = begin.message, self.number * PLACES + self.place
        where = (begin.clock, begin.micros, begin.site)
        foreign = not again and self.foreign.search(message)
        if begin.file is None:
            return TORN if foreign else "ignored"
        for hot in self.hot[begin.file]:
            head, whole = hot.head.match(message), hot.whole.match(message)
            if not head or not (hot.to_end or whole):
                continue
            if hot.counted:
                return str(hot.name)
            kept = message[head.end() :]
            if not hot.to_end and (upto := hot.upto.match(message)):
                kept = message[head.end() : upto.end() - hot.tail]
            if not whole or self.foreign.search(kept):
                if not again:
                    return TORN
                whole = None
            names = [name for name in hot.key if name in head.groupdict()]
            key = tuple(whole[name] for name in hot.key if name not in names) if whole else kept
            key = (*(int(head[name]) for name in names), key)
            number = int(head["step"])
            self.rows[hot.table].append((at, hot.role, key, *where, number, kept))
            return str(hot.name)
        if foreign:
            return TORN
        self.rows["texts"].append((at, *where, begin.file, message))
        return "cold"

    # ---- torn lines ------------------------------------------------------------------------------

    def take_apart(self, line: bytes) -> None:
        cuts = [found.start() for found in self.foreign.finditer(line) if found.start()]
        edges = [0, *cuts[: PLACES - 1], len(line)]
        pieces = [COLOURS.sub(b"", line[a:b]) for a, b in pairwise(edges)]
        begins = [self.begin(piece) for piece in pieces if piece]
        alone = [begin for begin in begins if not begin.message]
        if alone:
            alone[-1].message = self.message_after(alone[-1])
        ended = self.lines[self.number + 1 : self.number + 2] == [b""]
        for begin in begins:
            self.look(begin, 1 << 16 | ended << 17)

    def message_after(self, begin: Begin) -> bytes:
        """The message after a prefix that is alone on its line."""
        hot = self.hot[begin.file] if begin.file else []
        for line in self.lines[self.number + 1 : self.number + 1 + AHEAD]:
            other = self.begin(line)
            if other.site is not None:
                if not other.message or self.foreign.match(other.message):
                    break
            elif not line or self.foreign.match(line):
                continue
            elif not hot or any(each.head.match(line) for each in hot):
                return line
        return b""

    # ---- pairs -----------------------------------------------------------------------------------

    def ends(self) -> dict[int, int]:
        """The place of the end of each run that has one, by the place of its start."""
        by_key: dict[Any, list[tuple[int, str]]] = defaultdict(list)
        found: dict[int, int] = {}
        for at, role, key, *_ in self.rows["nodes"]:
            by_key[key].append((at, role))
        for records in by_key.values():
            starts, ends = ([at for at, is_ in records if is_ == role] for role in ("start", "end"))
            pairs = list(zip(starts, ends, strict=False))
            if len(starts) != len(ends) or any(end < start for start, end in pairs):
                both = ("start", "end")
                pairs = [(a, b) for (a, x), (b, y) in pairwise(records) if (x, y) == both]
            found.update(pairs)
        return found
