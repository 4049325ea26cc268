"""Ways in which a log may be damaged, by seed: as disks, pipes, editors and other programs do it.

Each mutation takes the bytes of a log and a `random.Random`, and returns other bytes. `KINDS` maps
names to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Mutation = Callable[[bytes, Random], bytes]

LONG_LINE = 30_000_000
_CLASSIC = re.compile(rb"(?m)^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6})")
_NUMBER = re.compile(rb"\d+")


def _lines(log: bytes) -> list[bytes]:
    return log.splitlines(keepends=True)


def cut(log: bytes, random: Random) -> bytes:
    """Only a part of the bytes, cut anywhere at both ends."""
    begin, end = sorted((random.randrange(len(log) + 1), random.randrange(len(log) + 1)))
    return log[begin:end]


def cut_end(log: bytes, random: Random) -> bytes:
    """The program was killed, or the disk is full."""
    return log[: random.randrange(len(log) + 1)]


def splice(log: bytes, random: Random) -> bytes:
    """The log goes on with another part of itself, in the middle of a line."""
    return log[: random.randrange(len(log))] + log[random.randrange(len(log)) :]


def flip_bytes(log: bytes, random: Random) -> bytes:
    """A few hundred bytes have any other value."""
    text = bytearray(log)
    for _ in range(300):
        text[random.randrange(len(text))] = random.randrange(256)
    return bytes(text)


def flip_marks(log: bytes, random: Random) -> bytes:
    """Characters that mean something to a parser are where they should not be."""
    text = bytearray(log)
    for _ in range(300):
        text[random.randrange(len(text))] = random.choice(b'[](){}:,=/"\\_ \n\r\t-0')
    return bytes(text)


def glue_lines(log: bytes, random: Random) -> bytes:
    """Some line ends are lost."""
    return b"".join(line.rstrip(b"\n") if random.random() < 0.05 else line for line in _lines(log))


def break_lines(log: bytes, random: Random) -> bytes:
    """Some lines are broken in two."""
    lines = []
    for line in _lines(log):
        if random.random() < 0.05:
            at = random.randrange(len(line))
            lines += [line[:at], b"\n", line[at:]]
        else:
            lines.append(line)
    return b"".join(lines)


def insert_binary(log: bytes, random: Random) -> bytes:
    """Another program's bytes in between."""
    at = random.randrange(len(log))
    return log[:at] + random.randbytes(20_000) + log[at:]


def insert_controls(log: bytes, random: Random) -> bytes:
    """Escape sequences of terminals, at the ends of lines and within."""
    pieces = [
        b"\x1b[2J",
        b"\x1b]0;title\x07",
        b"\x9b31m",
        b"\r",
        b"\x00",
        "\u202e".encode(),
        b"\x0c",
    ]
    text = [log]
    for _ in range(50):
        part = text.pop(random.randrange(len(text)))
        at = random.randrange(len(part) + 1)
        text += [part[:at] + random.choice(pieces), part[at:]]
    return b"".join(sorted(text, key=log.find))


def name_controls(log: bytes, random: Random) -> bytes:
    """Escape sequences in the names of ops and nodes, where tables show them."""
    names = re.findall(rb"(?:\{\{node |Executing op )([A-Za-z_]+)", log)
    name = random.choice(names or [b"I"])
    return log.replace(name, name[:2] + b"\x1b[31m\x07\x9b" + name[2:] + "\u202e".encode())


def long_line(log: bytes, random: Random) -> bytes:
    """One line of 30 MB, as a constant's value gives it."""
    at = random.randrange(len(log))
    return log[:at] + b"x" * LONG_LINE + log[at:]


def wrong_dates(log: bytes, random: Random) -> bytes:
    """Days and hours that do not exist."""

    def other(match: re.Match[bytes]) -> bytes:
        if random.random() > 0.1:
            return match[0]
        parts = list(match.groups())
        at = random.randrange(len(parts))
        parts[at] = b"9" * len(parts[at]) if random.random() < 0.5 else b"0" * len(parts[at])
        return b"%b-%b-%b %b:%b:%b.%b" % tuple(parts)

    return _CLASSIC.sub(other, log)


def clock_back(log: bytes, random: Random) -> bytes:
    """The clock is set back by an hour, more than once."""
    lines = _lines(log)
    for _ in range(3):
        at = random.randrange(len(lines))
        lines[at:] = [
            _CLASSIC.sub(lambda match: match[0][:11] + b"%02d" % ((int(match[4]) - 1) % 24)
                         + match[0][13:], line)
            for line in lines[at:]
        ]  # fmt: skip
    return b"".join(lines)


def big_numbers(log: bytes, random: Random) -> bytes:
    """Numbers with more digits than any integer has."""

    def other(match: re.Match[bytes]) -> bytes:
        if random.random() > 0.002:
            return match[0]
        return b"9" * random.choice([8, 9, 16, 18, 19, 20, 21, 24, 25, 40])

    return _NUMBER.sub(other, log)


def drop_lines(log: bytes, random: Random) -> bytes:
    """Lines are lost."""
    return b"".join(line for line in _lines(log) if random.random() > 0.1)


def duplicate_lines(log: bytes, random: Random) -> bytes:
    """Lines come twice."""
    return b"".join(line * random.choice([1] * 9 + [2]) for line in _lines(log))


def shuffle_neighbours(log: bytes, random: Random) -> bytes:
    """Lines change places with near ones, as when writers have buffers."""
    lines = _lines(log)
    order = sorted(range(len(lines)), key=lambda at: at + random.uniform(0, 8))
    return b"".join(lines[at] for at in order)


def shuffle(log: bytes, random: Random) -> bytes:
    """Lines in any order."""
    lines = _lines(log)
    random.shuffle(lines)
    return b"".join(lines)


KINDS: dict[str, Mutation] = {
    mutation.__name__: mutation
    for mutation in (
        cut,
        cut_end,
        splice,
        flip_bytes,
        flip_marks,
        glue_lines,
        break_lines,
        insert_binary,
        insert_controls,
        name_controls,
        long_line,
        wrong_dates,
        clock_back,
        big_numbers,
        drop_lines,
        duplicate_lines,
        shuffle_neighbours,
        shuffle,
    )
}


def mutated(log: bytes, kind: str, seed: int) -> bytes:
    """The log with one kind of damage; the same seed gives the same bytes."""
    return KINDS[kind](log, Random(f"{kind} {seed}"))
