"""Take what launchers, containers and CI put around each line off again, block by block."""

from __future__ import annotations

import ctypes
import json
import re
import struct
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from tflogscope.grammar.envelopes import Envelope, in_object
from tflogscope.native.library import library
from tflogscope.sources.block import LINE_CAP, Block, SourceAccount
from tflogscope.sources.text import clean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FEW = 8  # ways in which lines of one process begin
_LONGEST_SHAPE = 0xFFFF  # bytes
_DIGITS, _ANY_DIGITS, _ANY_STRING = re.compile(b"[0-9]+"), b"\x01", b"\x02"
_SIZE = r"^(?:\\x[0-9a-f]{2}|[^\n]){1,3}?(?:\\x00){5,7}"  # of 8 bytes, with NULs escaped
_JSON = re.compile(rb'("(?:[^"\\]|\\.)*")(\s*:)?|([][{}])|([^]["{}]+)')

Key = tuple[bytes, ...]
"""What tells one process from others, by all wrappers; of a line without a wrapper, empty texts."""


class Opened(NamedTuple):
    """Some whole lines without their wrapper."""

    text: bytes
    lines: int
    """How many lines of the input they were."""
    key: Key
    """Whose lines they are, where `keys` is None."""
    keys: list[Key] | None = None
    """Whose each line is, if they are not all of one process."""
    numbers: NDArray[np.int64] | None = None
    """Which line of the input each one was; None: each the one of its own number."""
    unfinished: int | None = None
    """The first line of the input that goes on after these."""

    @property
    def given(self) -> int:
        """How many lines they are now."""
        return self.lines if self.numbers is None else len(self.numbers)


class Chain:
    """The wrappers of one input, from the outside in, as they are met on its way."""

    def __init__(self, envelopes: Sequence[Envelope]) -> None:
        self.envelopes = tuple(envelopes)
        self._layers = [_layer(each) for each in envelopes]

    @property
    def name(self) -> str:
        """The wrappers, for people."""
        return ", ".join(each.name for each in self.envelopes)

    @property
    def tells_apart(self) -> bool:
        """Whether something in them tells processes apart."""
        return any(each.streams for each in self.envelopes)

    def describe(self, key: Key) -> str:
        """What tells a process from others, for people: `rank 1`."""
        names = [name for each in self.envelopes for name in each.streams]
        return ", ".join(
            f"{name.rpartition('.')[2].strip('_').lower().replace('_', ' ')} {value.decode()}"
            for name, value in zip(names, key, strict=True)
            if value
        )

    def rank_of(self, key: Key) -> int | None:
        """The rank in a key, if a wrapper says it."""
        names = [(each, name) for each in self.envelopes for name in each.streams]
        for (envelope, name), value in zip(names, key, strict=False):
            if name == envelope.rank and value.isdigit():
                return int(value)
        return None

    def open(self, text: bytes) -> Opened:
        """Whole lines without their wrappers, and put together again where they were cut."""
        opened = self._layers[0].open(text)
        for layer in self._layers[1:]:
            opened = _composed(opened, layer.open(opened.text))
        return opened


def _layer(envelope: Envelope) -> _Json | _Entries | _Folded | _Heads:
    if envelope.width:
        return _Folded(envelope.width)
    return (_Entries if envelope.entries else _Json if envelope.text else _Heads)(envelope)


def _composed(outer: Opened, inner: Opened) -> Opened:
    """What two wrappers say of the same lines."""
    numbers, keys = inner.numbers, None
    if outer.keys is not None or inner.keys is not None:
        outer_keys = outer.keys or [outer.key] * outer.given
        if numbers is not None:
            outer_keys = [outer_keys[number] for number in numbers.tolist()]
        keys = [
            a + b for a, b in zip(outer_keys, inner.keys or [inner.key] * inner.given, strict=True)
        ]
    if outer.numbers is not None:
        numbers = outer.numbers if numbers is None else outer.numbers[numbers]
    unfinished = outer.unfinished
    if inner.unfinished is not None:
        place = inner.unfinished
        place = place if outer.numbers is None else int(outer.numbers[place])
        unfinished = place if unfinished is None else min(place, unfinished)
    return Opened(inner.text, outer.lines, outer.key + inner.key, keys, numbers, unfinished)


class _Shapes:
    """What is around lines of one process, the same but for digits, and in JSON for other texts.

    The library takes it off where every line of a block has one of these shapes.
    """

    def __init__(self) -> None:
        self.key: Key = ()
        self._known: list[bytes] = []
        self._room = ctypes.create_string_buffer(0)

    def open(self, text: bytes) -> tuple[Opened | None, int]:
        """The lines, and where the first one begins that has another shape."""
        if not self._known:
            return None, 0
        if len(self._room) < len(text):
            self._room = ctypes.create_string_buffer(len(text))
        lines, read = ctypes.c_uint64(), ctypes.c_uint64()
        shapes = b"".join(self._known)
        size = library().tflogscope_unwrap(
            *(text, len(text), shapes, len(shapes)),
            *(self._room, ctypes.byref(lines), ctypes.byref(read)),
        )
        if read.value < len(text):
            return None, read.value
        return Opened(ctypes.string_at(self._room, size), lines.value, self.key), len(text)

    def add(self, key: Key, head: bytes, tail: bytes = b"") -> bool:
        """Know one more; False: it is known, of another process, or there is no room for it."""
        shape = b"".join(struct.pack("<H", len(each) & 0xFFFF) + each for each in (head, tail))
        wrong = len(head) + len(tail) > _LONGEST_SHAPE or shape in self._known
        if wrong or len(self._known) == _FEW or (self._known and key != self.key):
            return False
        self.key = key
        self._known.append(shape)
        return True


class _Heads:
    """Lines that begin with the wrapper."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._all = re.compile(b"\n(?:(%s))?" % envelope.pattern.pattern)
        self._shapes = _Shapes()
        self._begun: dict[tuple[bytes, ...], bytes] = {}

    def open(self, text: bytes) -> Opened:
        if self._envelope.inside:
            text = self._whole_lines(text)
        opened, _ = self._shapes.open(text)
        return opened or self._open_each(b"\n" + text[:-1])

    def _whole_lines(self, text: bytes) -> bytes:
        """Lines whose pieces are in several, each in the place of its last piece.

        A line that has not ended waits for the next text.
        """
        inside = self._envelope.inside.encode()
        if not self._begun and text.count(inside) == text.count(b"\n"):
            return text
        heads = [match for match in self._envelope.pattern.finditer(text) if match.end()]
        heads = [
            a for a, b in zip(heads, [None, *heads], strict=False) if not b or a.start() > b.end()
        ]
        ends = [head.start() for head in heads[1:]]
        made = [text[: heads[0].start()] if heads else text]
        for head, end in zip(heads, [*ends, len(text)], strict=bool(heads)):
            piece, feed, rest = text[head.end() : end].partition(b"\n")
            whole = self._begun.pop(head.groups(), b"") + piece
            if feed:
                made += head[0], whole, feed, rest
            else:
                self._begun[head.groups()] = whole
        return b"".join(made)

    def _open_each(self, body: bytes) -> Opened:
        asked = self._envelope.asked
        pieces = self._all.split(body)
        step = len(asked) + 2
        heads, lines = pieces[1::step], pieces[step::step]
        fields = {name: pieces[at::step] for at, name in enumerate(asked, 2)}
        if any(None in each for each in fields.values()):
            fields = {name: [value or b"" for value in each] for name, each in fields.items()}
        streams = [fields[name] for name in self._envelope.streams]
        keys = list(zip(*streams, strict=True)) if streams else None
        channel = fields.get(self._envelope.channel)
        name, value = self._envelope.part
        cut = list(map(value.encode().__eq__, fields[name])) if name else None
        opened = _mended(lines, keys, channel, cut)
        if opened.keys is None:
            self._learn(opened.key, heads)
        return opened

    def _learn(self, key: Key, heads: list[bytes | None]) -> None:
        """The shapes of heads, with all digits but the key's. Those of cut lines are left out."""
        self._shapes = _Shapes()
        text = b"\n".join([each for each in heads if each])
        found = dict(zip(_DIGITS.sub(b"0", text).split(b"\n"), text.split(b"\n"), strict=True))
        asked, (name, value) = self._envelope.asked, self._envelope.part
        for head in found.values() if len(found) <= _FEW else ():
            match = self._envelope.pattern.fullmatch(head)
            values = dict(zip(asked, match.groups(), strict=True)) if match else {}
            if match and (not name or values[name] != value.encode()):
                fixed = [match.span(1 + asked.index(each)) for each in self._envelope.streams]
                self._shapes.add(key, _shape(head, fixed))


def _shape(head: bytes, fixed: Sequence[tuple[int, int]]) -> bytes:
    """A head with a mark for digits that may be others: all that are not in a fixed part."""
    found, begin = b"", 0
    for first, last in sorted(fixed):
        if first >= 0:
            found += _DIGITS.sub(_ANY_DIGITS, head[begin:first]) + head[first:last]
            begin = last
    return found + _DIGITS.sub(_ANY_DIGITS, head[begin:])


class _Folded:
    """Lines that go on in the next one where they are full."""

    def __init__(self, width: int) -> None:
        self._width = width

    def open(self, text: bytes) -> Opened:
        lines = text.split(b"\n")[:-1]
        full = [len(line.decode("utf-8", "replace")) == self._width for line in lines]
        return _mended(lines, None, None, full)


class _Json:
    """Lines that are JSON objects; polars reads what the library doesn't."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._shapes = _Shapes()

    def open(self, text: bytes) -> Opened:
        while True:
            opened, place = self._shapes.open(text)
            if opened:
                return opened._replace(text=clean(opened.text, LINE_CAP, SourceAccount()))
            if not self._learn(text[place : text.find(b"\n", place)]):
                return self._open_each(text)

    def _learn(self, line: bytes) -> bool:
        """Know the shape of a line; False: it is known, or the line is none of this kind."""
        envelope, (name, value) = self._envelope, self._envelope.part
        found = envelope.read(line.decode())
        if found is None or (name and in_object(json.loads(line), name) == value):
            return False
        head, tail = _shape_of_object(line, envelope)
        return self._shapes.add(tuple(map(str.encode, found[1])), head, tail)

    def _open_each(self, text: bytes) -> Opened:
        import polars as pl

        envelope = self._envelope
        frame = _read_objects(text, (envelope.text, *envelope.asked))
        found = frame[envelope.text]
        if found.null_count():  # what is no object of this kind stays as it is
            found = found.fill_null(_lines(text))
        ends = found.str.ends_with("\n") if envelope.line_feed else None
        cut = None
        if ends is not None and not ends.all():
            cut = (~ends & frame[envelope.text].is_not_null()).to_list()
        elif envelope.part[0]:
            cut = (frame[envelope.part[0]] == envelope.part[1]).fill_null(value=False).to_list()
            cut = cut if any(cut) else None
        streams = [frame[name].fill_null("").cast(pl.Binary) for name in envelope.streams]
        if cut is None and all(each.n_unique() == 1 for each in streams):
            whole = ends is not None and bool(ends.all())
            joined = found.str.join("" if whole else "\n").cast(pl.Binary).item()
            joined = clean(joined if whole else joined + b"\n", LINE_CAP, SourceAccount())
            if joined.count(b"\n") == len(found):
                return Opened(joined, len(found), tuple(each[0] for each in streams))
        lines = found.str.strip_suffix("\n").cast(pl.Binary).to_list()
        keys = list(zip(*streams, strict=True)) if streams else None
        channel = frame[envelope.channel].to_list() if envelope.channel else None
        return _mended(lines, keys, channel, cut)


class _Entries:
    """Lines that are a field each, and of entries the text of each."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope

    def open(self, text: bytes) -> Opened:
        import polars as pl

        envelope, line = self._envelope, pl.col("line")
        name = line.str.extract(r"^ *([A-Z_][A-Z0-9_]*)=")
        # What is no text has its name on a line of its own, and its size before it.
        alone = line.str.extract(r"^([A-Z_][A-Z0-9_]*)$")
        binary = alone.shift().is_not_null()
        fields = pl.DataFrame({"line": _lines(text)}).select(
            number=pl.int_range(pl.len()),
            name=pl.when(binary).then(alone.shift()).otherwise(name),
            value=pl.when(binary)
            .then(line.str.replace(_SIZE, ""))
            .otherwise(line.str.replace(r"^ *\w+=", "")),
            entry=(name.is_null() & alone.is_null() & ~binary).cum_sum(),
        )
        last = fields["entry"][-1]
        begin = fields["entry"].search_sorted(last) + int(last > 0)
        found = fields.filter(name=envelope.text)
        for asked in envelope.asked:
            values = fields.filter(name=asked).unique("entry", keep="first", maintain_order=True)
            found = found.join(
                values.select("entry", pl.col("value").alias(asked)),
                on="entry",
                how="left",
                maintain_order="left",
            )
        # The last entry may lack what tells its process.
        ends = pl.col("entry") == last
        streams = [
            found.select(pl.when(ends).then(pl.col(each).forward_fill()).otherwise(each))[each]
            .fill_null("")
            .cast(pl.Binary)
            for each in envelope.streams
        ]
        keys = list(zip(*streams, strict=True)) if streams else None
        part, value = envelope.part
        cut = (found[part] == value).fill_null(value=False).to_list() if part else None
        lines = found["value"].cast(pl.Binary).to_list()
        whole = Opened(
            b"",
            fields.height,
            (),
            None,
            found["number"].to_numpy(),
            None if begin == fields.height else begin,
        )
        return _composed(whole, _mended(lines, keys, None, cut))


def _shape_of_object(line: bytes, envelope: Envelope) -> tuple[bytes, bytes]:
    """What is before and behind the text, with marks for digits and texts that may be others."""
    made: list[bytes] = []
    path, before = list[str](), 0
    for string, colon, bracket, rest in _JSON.findall(line):
        if string and colon:
            path[-1] = json.loads(string)
            made += string, colon
        elif string and ".".join(path) == envelope.text:
            before = len(made) + 1
            made += b'"', b'\\n"' if envelope.line_feed else b'"'
        elif string:
            made.append(string if ".".join(path) in envelope.asked else b'"%s"' % _ANY_STRING)
        else:
            made.append(bracket or _DIGITS.sub(_ANY_DIGITS, rest))
            path = [*path, ""] if bracket in (b"{", b"[") else path[:-1] if bracket else path
    return b"".join(made[:before]), b"".join(made[before:])


def _read_objects(text: bytes, paths: Sequence[str]) -> Any:
    """Texts at these paths of each line, null where there are none."""
    import polars as pl

    lines = _lines(text).to_frame("line")
    found = {
        path: pl.col("line").str.json_path_match(
            "$" + "".join(f"['{name}']" for name in path.split("."))
        )
        for path in paths
    }
    return lines.select(**found)


def _lines(text: bytes) -> Any:
    import polars as pl

    return pl.Series([text[:-1].decode()]).str.split("\n").explode()


# ---- lines that were cut, or hold several --------------------------------------------------------


def _mended(
    lines: list[bytes],
    keys: list[Key] | None,
    channel: list[Any] | None,
    cut: list[bool] | None,
) -> Opened:
    """Lines with those in one that were cut: each goes on in the next of its key and channel."""
    numbers: Any = None
    unfinished, count = None, len(lines)
    if cut and any(cut):
        lines, numbers, unfinished = _joined(lines, keys, channel, cut)
        keys = keys and [keys[number] for number in numbers.tolist()]
    text = clean(b"\n".join([*lines, b""]), LINE_CAP, SourceAccount())
    if text.count(b"\n") != len(lines):  # a text of several lines
        import numpy as np

        counts = np.fromiter(map(bytes.count, lines, repeat(b"\n")), np.int64, len(lines)) + 1
        numbers = np.repeat(np.arange(len(lines)) if numbers is None else numbers, counts)
        keys = keys and [keys[n] for n in np.repeat(np.arange(len(lines)), counts).tolist()]
        lines = text.split(b"\n")[:-1]
    if keys is None:
        return Opened(text, count, (), None, numbers, unfinished)
    several = set(keys)
    if len(several) == 2 and not all(map(any, several)):
        several = set(compress(keys, lines))  # a blank line without a wrapper is anybody's
    if len(several) == 1:
        return Opened(text, count, several.pop(), None, numbers, unfinished)
    return Opened(text, count, (), keys, numbers, unfinished)


def in_groups(values: Sequence[Hashable]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Places ordered by value, equal ones as they come; and which is the last of its value."""
    import numpy as np

    codes = {each: number for number, each in enumerate(dict.fromkeys(values))}
    group = np.fromiter(map(codes.__getitem__, values), np.int64, len(values))
    order = np.argsort(group, kind="stable")
    group = group[order]
    return order, np.append(group[1:] != group[:-1], True)


def _joined(
    lines: list[bytes], keys: list[Key] | None, channel: list[Any] | None, cut: list[bool]
) -> tuple[list[bytes], NDArray[np.int64], int | None]:
    """The lines, each in the place of its first piece; their numbers; the first that goes on."""
    import numpy as np

    count = len(lines)
    whose = list(zip(keys or repeat(None, count), channel or repeat(None, count), strict=False))
    order, last = in_groups(whose)
    goes_on = np.array(cut)[order]
    begins = np.append(True, ~goes_on[:-1] | last[:-1])
    first = np.flatnonzero(begins)
    ends = np.append(first[1:], count)
    places = order.tolist()
    lines = list(lines)
    for a, b in zip(first[ends - first > 1].tolist(), ends[ends - first > 1].tolist(), strict=True):
        lines[places[a]] = b"".join([lines[place] for place in places[a:b]])
    open_ = order[first[goes_on[ends - 1]]]
    kept = np.sort(order[first])
    return (
        [lines[place] for place in kept.tolist()],
        kept,
        int(open_.min()) if len(open_) else None,
    )


def opened_blocks(blocks: Iterable[Block], chain: Chain) -> Iterator[tuple[Opened, Block]]:
    """Each block opened, with the block at which it was complete.

    A line that goes on after its block waits for the next one, unless it is too long.
    """
    rest, block = b"", Block(b"", 0, 0)
    for block in blocks:
        whole = rest + block.text if rest else block.text
        opened: Opened | None
        opened, rest = chain.open(whole), b""
        while opened is not None and opened.unfinished is not None:
            place = _line_start(whole, opened.unfinished)
            if len(whole) + len(rest) - place > 2 * LINE_CAP:
                break
            whole, rest = whole[:place], whole[place:] + rest
            opened = chain.open(whole) if whole else None
        if opened is not None:
            yield opened, block
    if rest:
        yield chain.open(rest), block


def _line_start(text: bytes, number: int) -> int:
    """Where a line begins, by its number from 0."""
    import numpy as np

    feeds = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    return int(feeds[number - 1]) + 1 if number else 0
