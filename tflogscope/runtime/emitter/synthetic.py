"""Logs of any size. A small encoder is trained for a few steps; the lines of the last ones are written
over and over, with the digits of times and steps put in anew. So the log is written as fast as memory
is copied, and no two steps are the same.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.emitter.output import classic_time
from tflogscope.runtime.emitter.process import Settings, writing
from tflogscope.runtime.emitter.truth import BEGIN
from tflogscope.runtime.function.gradient_tape import GradientTape
from tflogscope.runtime.function.polymorphic import function
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.library import nn, numbers, random

_VARIANTS = 6
_STEP = 10**18
"""Steps have 19 digits, so that all their lines are equally long."""
_CALL = re.compile(rb"(?m)^.*Entering eager executing local operation '__forward_")


@dataclass
class Totals:
    """What was written."""

    bytes: int = 0
    steps: int = 0
    executions: int = 0
    primitives: int = 0


def write(
    file: BinaryIO,
    size: int,
    *,
    release: str = "2.13",
    threads: int = 8,
    seed: int = 0,
    layers: int = 12,
) -> Totals:
    """Write a log of at least so many bytes. Raises ValueError for a release that is not known."""
    log = _recorded(release, threads, seed, layers)
    starts = [found.start() for found in _CALL.finditer(log)]
    totals = Totals(file.write(log[: starts[2]]))
    ends = [*starts[3:], len(log)]
    absl = release == "2.21"
    runs = [_Run(log[a:b], absl=absl) for a, b in zip(starts[2:], ends, strict=True)][:_VARIANTS]
    now, generator = BEGIN + 100_000_000, np.random.default_rng(seed)
    while totals.bytes < size:
        run = runs[int(generator.integers(len(runs)))]
        totals.bytes += file.write(run.stamped(now, _STEP + int(generator.integers(_STEP))))
        totals.steps += 1
        totals.executions += run.executions
        totals.primitives += run.primitives
        now += run.lasts + int(generator.integers(2_000, 20_000))
    return totals


class _Run:
    """One step's lines, and where their digits are."""

    def __init__(self, data: bytes, *, absl: bool) -> None:
        self.absl = absl
        data = re.sub(rb"step -\d+ ", b"step -%d " % _STEP, data)
        mark = (
            rb"(?m)^I0000 00:00:(\d{10})\.(\d{6})"
            if absl
            else rb"(?m)^20\d\d-\d\d-\d\d (\d\d):(\d\d):(\d\d)\.(\d{6})"
        )
        found = list(re.finditer(mark, data))
        self._places = np.array([e.start(1) if absl else e.start() for e in found], np.intp)
        seconds = [_seconds(e, absl=absl) for e in found]
        self._times = np.array(seconds, np.int64) - seconds[0]
        steps = re.finditer(rb"step -(\d{19}) ", data)
        self._steps = np.array([each.start(1) for each in steps], np.intp)
        self._data = np.frombuffer(data, np.uint8).copy()
        self.lasts = int(self._times.max())
        self.executions = data.count(b"Process node: ") + data.count(b"Executing op ")
        self.primitives = data.count(b",exec,")

    def stamped(self, now: int, step: int) -> memoryview:
        """The lines as they are at that time, with that step's number."""
        times, data, places = now + self._times, self._data, self._places
        if self.absl:
            data[places[:, None] + np.arange(10)] = _digits(times // 1_000_000, 10)
            data[places[:, None] + np.arange(11, 17)] = _digits(times % 1_000_000, 6)
        else:
            seconds = times // 1_000_000
            for second in range(int(seconds.min()), int(seconds.max()) + 1):  # mostly one
                text = np.frombuffer(classic_time(second * 1_000_000)[:20].encode(), np.uint8)
                data[places[seconds == second][:, None] + np.arange(20)] = text
            data[places[:, None] + np.arange(20, 26)] = _digits(times % 1_000_000, 6)
        data[self._steps[:, None] + np.arange(19)] = np.frombuffer(b"%d" % step, np.uint8)
        return data.data


def _seconds(found: re.Match[bytes], *, absl: bool) -> int:
    parts = [int(each) for each in found.groups()]
    if absl:
        return parts[0] * 1_000_000 + parts[1]
    return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1_000_000 + parts[3]


def _digits(numbers_: Any, count: int) -> Any:
    """Decimal digits as characters, one row each."""
    powers = 10 ** np.arange(count - 1, -1, -1, dtype=np.int64)
    return (numbers_[:, None] // powers % 10 + 48).astype(np.uint8)


def _recorded(release: str, threads: int, seed: int, layers: int) -> bytes:
    """The log of a few steps."""
    buffer = io.BytesIO()

    @contextmanager
    def opened(_: Path) -> Iterator[io.BytesIO]:
        yield buffer

    settings = Settings(release, seed=seed, threads=threads)
    with writing(Path(tempfile.gettempdir()), settings, opened=opened):
        step = _encoder(layers)
        for _ in range(3 + _VARIANTS):
            step()
    return buffer.getvalue()


def _encoder(layers: int, width: int = 32, length: int = 8) -> Any:
    """A training step of an encoder."""
    shapes = {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width)}
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width)}
    weights = [
        {name: Variable(random.normal(shape, stddev=0.1)) for name, shape in shapes.items()}
        for _ in range(layers)
    ]
    given = constant(np.ones((length, width), np.float32))

    @function
    def forward() -> Any:
        x = given
        for w in weights:
            q, k, v = (O.MatMul(x, w[name]) for name in "qkv")
            scores = nn.softmax(O.MatMul(q, k, transpose_b=True) / 5.0)
            x = _norm(x + O.MatMul(O.MatMul(scores, v), w["o"]))
            x = _norm(x + O.MatMul(nn.gelu(O.MatMul(x, w["up"])), w["down"]))
        return numbers.reduce_mean(O.Square(x))

    def step() -> None:
        with GradientTape() as tape:
            loss = forward()
        flat = [variable for w in weights for variable in w.values()]
        for variable, gradient in zip(flat, tape.gradient(loss, flat), strict=True):
            variable.assign_sub(0.1 * gradient)

    return step


def _norm(x: Any) -> Any:
    mean = numbers.reduce_mean(x, -1, keepdims=True)
    variance = numbers.reduce_mean(O.SquaredDifference(x, mean), -1, keepdims=True)
    return (x - mean) * O.Rsqrt(variance + 1e-6)
