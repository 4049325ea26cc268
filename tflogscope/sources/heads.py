"""Lines that begin with what a wrapper puts there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from tflogscope.grammar.envelopes import Envelope
from tflogscope.sources.block import Numbers, numbers_at
from tflogscope.sources.pieces import Key, Opened, Pieces
from tflogscope.sources.shapes import LineShapes, any_digits, one_of_each

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LONGEST = 256  # bytes of a head


class Heads:
    """The texts behind heads. A head may be inside a line, which then goes on later."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._inside = envelope.inside.encode()
        self._all = re.compile(b"\n(?:(%s))?" % envelope.pattern.pattern)
        # To look for one byte is the quickest, and hardly any line has it.
        rare, rest = re.escape(self._inside[:1]), re.escape(self._inside[1:])
        self._find_inside = re.compile(b"%s(?=%s)" % (rare, rest))
        self._shapes, self._pieces = LineShapes(), Pieces()
        self.rest = self._pieces.rest
        self.left_out = 0

    def open(self, text: bytes, numbers: Numbers) -> list[Opened]:
        """See `Layer`."""
        import numpy as np

        text, left_out = self._envelope.without_tails(text)
        self.left_out += left_out
        if not self._pieces.begun:
            alike, _ = self._shapes.open(text, numbers)
            searches = (self._find_inside.search(batch.text) for batch in alike if self._inside)
            if alike and not any(searches):
                return alike
        heads, lines, fields = self._split(text)
        envelope, cut, lost = self._envelope, None, list[int]()
        if self._inside and text.count(self._inside) > len(heads) - heads.count(None):
            text, goes_on, numbers = self._apart(text, heads, numbers)
            heads, lines, fields = self._split(text)
            # What is before the first head is nobody's, and ends there.
            cut = [goes and head is not None for goes, head in zip(goes_on, heads, strict=True)]
            where = self._lost(heads, lines, goes_on) if envelope.streams else np.flatnonzero(cut)
            lost = where.tolist()
            for place in lost:  # nothing may take it for a whole line
                lines[place], cut[place] = lines[place] + "…".encode(), False
        elif envelope.part[0]:
            cut = list(map(envelope.part[1].encode().__eq__, fields[envelope.part[0]]))
        streams = [fields[name] for name in envelope.streams]
        keys = list(zip(*streams, strict=True)) if streams else None
        channel = fields.get(envelope.channel)
        opened = self._pieces.put_together(lines, numbers, keys, channel, cut)
        if lost:
            # Half a head says nothing; the line before is of the same process.
            keys = keys or [()] * len(heads)
            whose = Counter(keys[place if heads[place] else place - 1] for place in lost)
            return [batch._replace(unowned=whose[batch.key]) for batch in opened]
        self._learn(keys or [()] * len(heads), heads)
        return opened

    def _split(self, text: bytes) -> tuple[list[bytes | None], list[bytes], dict[str, list[bytes]]]:
        """Of each line its head, what is behind it, and the fields of the head."""
        names = self._envelope.asked
        pieces = self._all.split(b"\n" + text[:-1])
        step = len(names) + 2
        fields = {name: pieces[at::step] for at, name in enumerate(names, 2)}
        if any(None in field for field in fields.values()):
            fields = {name: [value or b"" for value in values] for name, values in fields.items()}
        return pieces[1::step], pieces[step::step], fields

    def _apart(
        self, text: bytes, heads: Sequence[bytes | None], numbers: Numbers
    ) -> tuple[bytes, list[bool], Numbers]:
        """Text with each head at the begin of a line, which lines go on, and their numbers."""
        import numpy as np

        data = np.frombuffer(text, np.uint8)
        feeds = np.flatnonzero(data == 10)
        begins = np.array([match.start() for match in self._find_inside.finditer(text)], np.int64)
        line = np.searchsorted(feeds, begins)
        first = np.append(True, line[1:] != line[:-1])
        inner = np.flatnonzero(~(first & np.array([head is not None for head in heads])[line]))
        place, here = begins[inner], line[inner]
        # In its line, and between the one before and the next one.
        since = np.maximum(np.append(-1, begins)[inner] + 1, np.append(0, feeds + 1)[here])
        until = np.minimum(np.append(begins[1:], len(data))[inner], feeds[here])
        since, until = np.maximum(since, place - _LONGEST), np.minimum(until, place + _LONGEST)
        search = self._envelope.pattern.search
        matches = map(search, repeat(text), since.tolist(), until.tolist())
        places = np.array([match.start() for match in matches if match], np.int64)
        goes_on = np.zeros(len(feeds) + len(places), bool)
        goes_on[np.searchsorted(feeds, places) + np.arange(len(places))] = True
        lines = np.arange(len(goes_on)) - (goes_on.cumsum() - goes_on)
        return np.insert(data, places, 10).tobytes(), goes_on.tolist(), numbers_at(numbers, lines)

    def _lost(
        self, heads: Sequence[bytes | None], lines: Sequence[bytes], goes_on: Sequence[bool]
    ) -> NDArray[np.int64]:
        """The lines whose rest the launcher had no room for.

        What it read at once begins just so many bytes before what comes next; one of the two is
        inside a line, as heads behind line feeds may be anywhere. If nothing were lost, all that
        it read would be in between.
        """
        import numpy as np

        if not self._envelope.room:
            return np.zeros(0, np.int64)
        read, written = self._envelope.room
        sizes = np.array([len(head or b"") for head in heads])
        inner = np.array([False, *goes_on[:-1]])
        ends = (sizes + [*map(len, lines)] + ~np.array(goes_on)).cumsum()
        at, total = np.append(0, ends[:-1]), np.append(0, sizes.cumsum())
        first = at.searchsorted(at - written)
        before = (at[first] == at - written) & (inner | inner[first])
        full = written - (total[:-1] - total[first]) < read
        return np.flatnonzero(before & full) - 1

    def _learn(self, keys: Sequence[Key], heads: Sequence[bytes | None]) -> None:
        """The shapes of heads, with all digits but the key's. Those of cut lines are left out."""
        samples = one_of_each([(key, head) for key, head in zip(keys, heads, strict=True) if head])
        if len(samples) > self._shapes.room(keys):
            self._shapes = LineShapes()
        names, (name, value) = self._envelope.asked, self._envelope.part
        for key, head in samples if len(samples) <= self._shapes.room(keys) else ():
            match = self._envelope.pattern.fullmatch(head)
            values = dict(zip(names, match.groups(), strict=True)) if match else {}
            if match and (not name or values[name] != value.encode()):
                fixed = [match.span(1 + names.index(stream)) for stream in self._envelope.streams]
                self._shapes.add(key, any_digits(head, fixed))


class Restored:
    """Text as it was before HTML, Markdown or people changed it."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope

    def open(self, text: bytes, numbers: Numbers) -> list[Opened]:
        """See `Layer`."""
        for repair in self._envelope.repairs:
            text = repair.apply(text)
        for escaped, plain in self._envelope.escapes:
            text = text.replace(escaped, plain)
        lines = text.count(b"\n")
        return [Opened((), text, numbers, lines, lines)]

    def rest(self) -> list[Opened]:
        """See `Layer`."""
        return []


class FoldedLines:
    """Lines that go on in the next one where they are full."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._pieces = Pieces()
        self.rest = self._pieces.rest

    def open(self, text: bytes, numbers: Numbers) -> list[Opened]:
        """See `Layer`."""
        lines = text.split(b"\n")[:-1]
        full = [len(line.decode("utf-8", "replace")) == self._width for line in lines]
        return self._pieces.put_together(lines, numbers, None, None, full)
