"""Write a log of any size, of an encoder's training, and say how fast that was.

python benchmarks/synthetic.py OUT.log [--size 1G] [--release 2.13] [--threads 8] [--seed 0]

A few layers are trained for a few steps; the lines of the last ones are written over and over, with
the seconds of their times and their steps put in anew. So the log is written as fast as memory is
copied, and no two steps are the same.
"""

from __future__ import annotations

import argparse
import io
import re
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.emitter.output import classic_time
from tflogscope.runtime.emitter.process import Settings, writing
from tflogscope.runtime.emitter.records import BEGIN
from tflogscope.runtime.function.backprop import GradientTape
from tflogscope.runtime.function.polymorphic import function
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.library import nn, numbers, random

UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}
_VARIANTS = 6
_STEP = 10**18
"""Steps have 19 digits, so that all their lines are equally long."""
_CALL = re.compile(rb"(?m)^.*Entering eager executing local operation '__forward_")
_SECOND = re.compile(rb"(?m)^(?:I0000 00:00:(\d{10})|(20\d\d-\d\d-\d\d \d\d:\d\d:\d\d))\.\d{6}")


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
    log = _recorded(Settings(release, seed=seed, threads=threads), layers)
    starts = [found.start() for found in _CALL.finditer(log)]
    totals = Totals(file.write(log[: starts[2]]))
    ends = [*starts[3:], len(log)]
    runs = [_Run(log[a:b]) for a, b in zip(starts[2:], ends, strict=True)][:_VARIANTS]
    now, generator = BEGIN // 1_000_000 + 100, np.random.default_rng(seed)
    while totals.bytes < size:
        run = runs[int(generator.integers(len(runs)))]
        totals.bytes += file.write(run.stamped(now, _STEP + int(generator.integers(_STEP))))
        totals.steps += 1
        totals.executions += run.executions
        totals.primitives += run.primitives
        now += run.lasts + 1
    return totals


class _Run:
    """One step's lines, and where their seconds and steps are."""

    def __init__(self, data: bytes) -> None:
        data = re.sub(rb"step -\d+ ", b"step -%d " % _STEP, data)
        found = list(_SECOND.finditer(data))
        self._absl = found[0][1] is not None
        group = 1 if self._absl else 2
        texts = sorted({each[group] for each in found})
        self._width, self.lasts = len(texts[0]), len(texts)
        self._places = np.array([each.start(group) for each in found], np.intp)
        self._seconds = np.array([texts.index(each[group]) for each in found], np.intp)
        steps = re.finditer(rb"step -(\d{19}) ", data)
        self._steps = np.array([each.start(1) for each in steps], np.intp)
        self._data = np.frombuffer(data, np.uint8).copy()
        self.executions = data.count(b"Process node: ") + data.count(b"Executing op ")
        self.primitives = data.count(b",exec,")

    def stamped(self, now: int, step: int) -> memoryview:
        """The lines as they are from that second on, with that step's number."""
        seconds = range(now, now + self.lasts)
        texts = [str(e) if self._absl else classic_time(e * 1_000_000)[:19] for e in seconds]
        digits = np.frombuffer("".join(texts).encode(), np.uint8).reshape(-1, self._width)
        self._data[self._places[:, None] + np.arange(self._width)] = digits[self._seconds]
        shown = np.frombuffer(b"%d" % step, np.uint8)
        self._data[self._steps[:, None] + np.arange(19)] = shown
        return self._data.data


def _recorded(settings: Settings, layers: int) -> bytes:
    """The log of a few steps."""
    buffer = io.BytesIO()
    with writing(Path(tempfile.gettempdir()), settings, opened=lambda _: nullcontext(buffer)):
        step = _training(layers)
        for _ in range(3 + _VARIANTS):
            step()
    return buffer.getvalue()


def _training(layers: int, width: int = 32) -> Any:
    """A training step of layers with attention."""
    weights = [
        [Variable(random.normal((width, width), stddev=0.1)) for _ in range(4)]
        for _ in range(layers)
    ]
    given = constant(np.ones((8, width), np.float32))

    @function
    def forward() -> Any:
        x = given
        for query, key, value, out in weights:
            scores = nn.softmax(O.MatMul(O.MatMul(x, query), O.MatMul(x, key), transpose_b=True))
            x = O.Tanh(x + O.MatMul(O.MatMul(scores, O.MatMul(x, value)), out))
        return numbers.reduce_mean(O.Square(x))

    def step() -> None:
        with GradientTape() as tape:
            loss = forward()
        flat = [variable for each in weights for variable in each]
        for variable, gradient in zip(flat, tape.gradient(loss, flat), strict=True):
            variable.assign_sub(0.1 * gradient)

    return step


def bytes_of(text: str) -> int:
    """`4G` as a number."""
    unit = UNITS.get(text[-1:].upper())
    return int(float(text[:-1]) * unit) if unit else int(text)


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--size", type=bytes_of, default=10**9)
    parser.add_argument("--release", default="2.13")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    with options.log.open("wb") as file:
        totals = write(
            file,
            options.size,
            release=options.release,
            threads=options.threads,
            seed=options.seed,
        )
    took = time.perf_counter() - began
    print(
        f"{totals.bytes / 1e6:.0f} MB, {totals.steps} steps, {totals.executions} executions, "
        f"{totals.primitives} primitives in {took:.1f} s: {totals.bytes / 1e6 / took:.0f} MB/s"
    )


if __name__ == "__main__":
    main()
