"""What can go wrong with a log. Each fault takes all that is to be written and gives what is written
instead; the truth is about the file as it is in the end. They can be combined, in this order.

processes   a second process writes to the same file, the same a little later, with steps of its own
clock       the clock is set back, and later forward
torn        records are torn where two streams meet:
            A  the line of `gemm_api` is written in two: the next record begins right after its time,
               and its own end follows as an empty line               (oneDNN 2.7, unbuffered output)
            B  a line of oneDNN stands between the prefix of a long record and its message      (2.20)
            C  … or between the message and its end                                             (2.20)
late        D  what goes to standard output leaves in blocks of 4096 bytes, whose edges cut lines
prints      E  other programs' text without an end of line; F  text in the form of a record
bytes       bytes that are no text
kill        the process is killed in the middle
"""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from random import Random

from tflogscope.runtime.emitter.output import Fault, Piece, Prefixes
from tflogscope.runtime.emitter.records import BEGIN, NUMBERS, Execution

Pieces = Sequence[Piece]

# -- processes

_STEP = re.compile(rb"(step |step_id: )-(\d{2,})")  # not step -1, which all processes have
_DELAY, _THREADS, _OTHER_STEP = 4100, 5000, 77


def _processes(pieces: Pieces, random: Random, prefixes: Prefixes) -> Iterator[Piece]:
    second, shifted = deepcopy(pieces), set[Execution]()
    for piece in second:
        piece.process = 1
        assert piece.record is not None
        piece.record.time += _DELAY
        piece.record.thread += _THREADS
        _stamped(piece, prefixes, piece.record.time)
        piece.data = _STEP.sub(lambda m: b"%s-%d" % (m[1], int(m[2]) + _OTHER_STEP), piece.data)
        execution = piece.record.execution
        for each in (execution, execution and execution.call):
            if each is None or each in shifted:
                continue
            shifted.add(each)
            each.process, each.id = 1, next(NUMBERS)
            each.thread += _THREADS
            each.start += _DELAY
            each.end += _DELAY
            if each.step is not None and each.step < -1:
                each.step -= _OTHER_STEP
    return heapq.merge(second, pieces, key=lambda each: each.record.time if each.record else 0)


def _stamped(piece: Piece, prefixes: Prefixes, time: int) -> None:
    """Put another time in its prefix."""
    if piece.middle and piece.record is not None:
        prefix = prefixes.of(piece.record.kind, BEGIN + time, piece.record.thread).encode()
        piece.data, piece.middle = prefix + piece.data[piece.middle :], len(prefix)


# -- records


def _clock(pieces: Pieces, random: Random, prefixes: Prefixes) -> Iterator[Piece]:
    offset, left = 0, random.randint(200, 1500)
    for piece in pieces:
        left -= 1
        if not left:
            left = random.randint(500, 5000)
            offset = 0 if offset else -random.randint(1, 2_000_000)
        if offset and piece.record is not None and piece.middle:
            _stamped(piece, prefixes, piece.record.time + offset)
            piece.torn = "clock"
        yield piece


_SHARE_A, _SHARE_B, _LONG = 0.25, 0.5, 300


def _torn(pieces: Pieces, random: Random, prefixes: Prefixes) -> Iterator[Piece]:
    waiting = deque(pieces)
    while waiting:
        piece = waiting.popleft()
        if b",exec," in piece.data and piece.record and piece.record.kind == "onednn" and waiting:
            yield from _meeting(piece, waiting.popleft(), random.random())
        else:
            yield piece


def _meeting(held: Piece, piece: Piece, chance: float) -> list[Piece]:
    if not piece.middle or piece.process != held.process:
        return [held, piece]
    if b",gemm_api," in held.data and chance < _SHARE_A:
        held.data = held.data[:-1]
        held.torn = piece.torn = "A"
        return [held, piece, Piece(b"\n", process=held.process)]
    if len(piece.data) > _LONG and piece.data.count(b"\n") == 1 and chance < _SHARE_B:
        kind = "B" if chance < (_SHARE_A + _SHARE_B) / 2 else "C"
        rest = _cut(piece, piece.middle if kind == "B" else len(piece.data) - 1)
        held.torn = piece.torn = kind
        return [piece, held, rest]
    return [held, piece]


def _cut(piece: Piece, at: int) -> Piece:
    """Leave so many bytes; the rest."""
    rest = Piece(piece.data[at:], process=piece.process)
    piece.data = piece.data[:at]
    return rest


_BLOCK = 4096


def _late(pieces: Pieces, random: Random, prefixes: Prefixes) -> Iterator[Piece]:
    block: list[Piece] = []
    room = _BLOCK
    for piece in pieces:
        if piece.record is None or piece.record.kind not in {"onednn", "print"}:
            yield piece
            continue
        piece.torn = piece.torn or "D"
        rest = piece
        while len(rest.data) >= room:
            part, rest = rest, _cut(rest, room)
            yield from (*block, part)
            block, room = [], _BLOCK
        block.append(rest)
        room -= len(rest.data)
    yield from block


# -- between records

_PRINTS = (
    (b"no newline...", b"loss: 0.25 ", b"\rEpoch 1/3 [=====>....] "),
    (
        b"user stdout: Process node: 5 step 1 {{node fake}} = MatMul[]() device: x 0\n",
        b"2026-11-21 04:15:50,136 INFO app:12] step 2 Executing op FAKE in device somewhere\n",
        b"INFO:root:Synchronous kernel done: 7 step 3 {{node fake}} = Add[](x) device: y\n",
        b"\n",
        b"Traceback (most recent call last):\n",
        b"W1121 04:15:50.136000 77 other.cc:5] another program's own words\n",
    ),
)
_RAW = (
    (b"\xff\xfe\x00\x01 raw\n", b"\x80\x81\x82\n", b"caf\xe9 \xe2\x82\n", b"\x00" * 12 + b"\n"),
)


def _between(every: int, choices: Sequence[Sequence[bytes]]) -> Fault:
    def fault(pieces: Pieces, random: Random, prefixes: Prefixes) -> Iterator[Piece]:
        last: Piece | None = None
        for piece in pieces:
            # not into a record that another fault tore already
            whole = last is None or (not last.torn and last.data.endswith(b"\n"))
            if random.randrange(every) == 0 and whole:
                yield Piece(random.choice(random.choice(choices)), process=-1)
            yield piece
            last = piece

    return fault


def _kill(pieces: Pieces, random: Random, prefixes: Prefixes) -> Iterator[Piece]:
    kept = list(pieces[: random.randint(400, 2500)])
    if kept and kept[-1].record is not None and random.random() < 0.5:
        _cut(kept[-1], max(1, len(kept[-1].data) * 2 // 3))
        kept[-1].torn = "kill"
    return iter(kept)


FAULTS: dict[str, Fault] = {
    "processes": _processes,
    "clock": _clock,
    "torn": _torn,
    "late": _late,
    "prints": _between(40, _PRINTS),
    "bytes": _between(60, _RAW),
    "kill": _kill,
}


def faults_named(
    names: Sequence[str], seed: int, prefixes: Prefixes
) -> list[Callable[[Pieces], list[Piece]]]:
    """The faults of these names, in their order. Raises ValueError for a name that is none."""
    unknown = [name for name in names if name not in FAULTS]
    if unknown:
        raise ValueError(f"no fault {unknown[0]}: there are {', '.join(FAULTS)}")

    def bound(name: str) -> Callable[[Pieces], list[Piece]]:
        random = Random(f"{seed} {name}")  # noqa: S311 - a model, no secret
        return lambda pieces: list(FAULTS[name](pieces, random, prefixes))

    return [bound(name) for name in FAULTS if name in names]
