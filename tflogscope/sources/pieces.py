"""Lines of several processes, and lines that come in pieces: each process's whole lines."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import compress, repeat
from typing import TYPE_CHECKING, NamedTuple

from tflogscope.sources.block import LINE_CAP, Numbers, SourceAccount, numbers_at
from tflogscope.sources.text import clean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WAITING = 64 << 20  # bytes of lines that have not ended
_LEAST = _WAITING >> 12  # each counts for so many, as there are 4,096 at most

Key = tuple[bytes, ...]
"""What tells one process from others, by all wrappers; of a line without a wrapper, empty texts."""


class Opened(NamedTuple):
    """Some whole lines of one process, without what was around them."""

    key: Key
    text: bytes
    numbers: Numbers
    """Which line of the input each one is, by its first piece."""
    given: int
    """How many lines the text has."""
    lines: int
    """How many they were, a text of several lines being one."""
    unowned: int = 0
    """How many of them go on somewhere, which nothing says."""


class Pieces:
    """Lines of one input that go on in the next piece of their process and channel.

    Of those that would take too much memory, or time, each piece is a line.
    """

    def __init__(self) -> None:
        self.begun: dict[Hashable, tuple[Key, bytes, int]] = {}
        """Lines that have not ended, by process and channel, and where they began."""

    def put_together(
        self,
        lines: list[bytes],
        numbers: Numbers,
        keys: list[Key] | None,
        channel: list[bytes] | None = None,
        cut: Sequence[bool] | None = None,
    ) -> list[Opened]:
        """The lines that have ended, in the order of their ends; `cut` are those that go on."""
        if self.begun or (cut is not None and any(cut)):
            lines, numbers, keys = self._joined(lines, numbers, keys, channel, cut)
        return by_process(lines, numbers, keys)

    def rest(self) -> list[Opened]:
        """The lines that have not ended, at the end of the input."""
        import numpy as np

        begun, self.begun = list(self.begun.values()), {}
        keys, lines, numbers = zip(*begun, strict=True) if begun else ((), (), ())
        return by_process(list(lines), np.array(numbers, np.int64), list(keys))

    def _joined(
        self,
        lines: list[bytes],
        numbers: Numbers,
        keys: list[Key] | None,
        channel: list[bytes] | None,
        cut: Sequence[bool] | None,
    ) -> tuple[list[bytes], Numbers, list[Key]]:
        import numpy as np

        begun, count = list(self.begun.values()), len(lines)
        keys = [*(key for key, _, _ in begun), *(keys or repeat((), count))]
        whose = [*self.begun, *zip(keys[len(begun) :], channel or repeat(b"", count), strict=False)]
        lines = [*(text for _, text, _ in begun), *lines]
        at = np.array([number for *_, number in begun], np.int64)
        at = np.append(at, numbers_at(numbers, np.arange(count)))
        goes_on = np.append(
            np.ones(len(begun), bool), np.zeros(count, bool) if cut is None else cut
        )
        order, last = in_groups(whose)
        goes_on = goes_on[order].astype(bool)
        begins = np.append(True, ~goes_on[:-1] | last[:-1])
        first = np.flatnonzero(begins)
        final = np.append(first[1:], len(order)) - 1
        ended = ~goes_on[final]
        places = order.tolist()
        self.begun, room = {}, _WAITING
        for line in np.flatnonzero((final > first) | ~ended).tolist():
            chosen = places[first[line] : final[line] + 1]
            text = b"".join([lines[place] for place in chosen])
            if ended[line] or len(text) > min(room, LINE_CAP):
                ended[line] = True
                lines[chosen[-1]] = b"\n".join(
                    text[at : at + LINE_CAP] for at in range(0, len(text) or 1, LINE_CAP)
                )
            elif text:
                room -= max(len(text), _LEAST)
                self.begun[whose[chosen[0]]] = keys[chosen[0]], text, int(at[chosen[0]])
        ends = order[final[ended]]
        in_order = np.argsort(ends)
        kept = ends[in_order].tolist()
        return (
            [lines[place] for place in kept],
            at[order[first[ended]]][in_order],
            [keys[place] for place in kept],
        )


def by_process(lines: list[bytes], numbers: Numbers, keys: list[Key] | None) -> list[Opened]:
    """Lines of each process, whose key is that of each line; None: they are of one."""
    if not lines:
        return []
    import numpy as np

    text = clean(b"\n".join([*lines, b""]), LINE_CAP, SourceAccount())
    begins = None
    if text.count(b"\n") != len(lines):  # a text of several lines
        counts = np.fromiter(map(bytes.count, lines, repeat(b"\n")), np.int64, len(lines)) + 1
        begins = np.zeros(counts.sum(), bool)
        begins[counts.cumsum() - counts] = True
        places = np.repeat(np.arange(len(lines)), counts)
        numbers = numbers_at(numbers, places)
        keys = keys and [keys[place] for place in places.tolist()]
    given = len(lines) if begins is None else len(begins)
    several = set(keys or [()])
    if keys and len(several) == 2 and not all(map(any, several)):
        # A blank line without a wrapper is anybody's.
        several = set(compress(keys, text.split(b"\n"))) or several
    if not keys or len(several) == 1:
        return [Opened(several.pop(), text, numbers, given, len(lines))]
    lines, made, begin = text.split(b"\n"), [], 0
    order, last = in_groups(keys)
    for end in (np.flatnonzero(last) + 1).tolist():
        chosen, begin = order[begin:end], end
        places = chosen.tolist()
        mine = b"\n".join([*[lines[place] for place in places], b""])
        count = len(places) if begins is None else int(begins[chosen].sum())
        made.append(Opened(keys[places[0]], mine, numbers_at(numbers, chosen), len(places), count))
    return made


def in_groups(values: Sequence[Hashable]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Places ordered by value, equal ones as they come; and which is the last of its value."""
    import numpy as np

    codes = {value: number for number, value in enumerate(dict.fromkeys(values))}
    group = np.fromiter(map(codes.__getitem__, values), np.int64, len(values))
    order = np.argsort(group, kind="stable")
    group = group[order]
    return order, np.append(group[1:] != group[:-1], True)
