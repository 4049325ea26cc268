"""Logs of any size, of a model the size of BERT, without computing anything.

The nodes of a train step are listed with their shapes only. A few runs of it are said as any run is
(`running.py`), each with other times, so that the nodes lie differently on the threads; then these
are written over and over, with the digits of times and steps put in anew. So the log is written as
fast as memory is copied, and no two steps are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.devices import CPU
from tflogscope.runtime.dtypes import float32, resource
from tflogscope.runtime.emitter.costs import Costs
from tflogscope.runtime.emitter.dialects import dialect
from tflogscope.runtime.emitter.eager import call_begins
from tflogscope.runtime.emitter.functions import Instances
from tflogscope.runtime.emitter.kernels import Engine
from tflogscope.runtime.emitter.models import Layer, bert
from tflogscope.runtime.emitter.prefixes import BEGIN, Levels, Prefixes, classic_time
from tflogscope.runtime.emitter.records import Execution, Record
from tflogscope.runtime.emitter.running import Runs
from tflogscope.runtime.emitter.voice import Dispatch, Events, Voice
from tflogscope.runtime.function.definition import FunctionDef, NodeDef
from tflogscope.runtime.operations import OpDef
from tflogscope.runtime.shapes import UNKNOWN

__all__ = ["Totals", "write"]

_NAME = "__inference_train_function_48213"
_VARIANTS = 6
_STEP = 10**18
"""Steps have 19 digits, so that all steps' records are equally long."""


@dataclass
class Totals:
    """What was written."""

    bytes: int = 0
    steps: int = 0
    executions: int = 0
    primitives: int = 0


@dataclass(frozen=True)
class _Run:
    """One run of the step as bytes, and where its digits are."""

    data: NDArray[np.uint8]
    times: NDArray[np.int64]
    """Of each record, from the start of the run."""
    places: NDArray[np.intp]
    """Of each time in `data`."""
    steps: NDArray[np.intp]
    lasts: int
    executions: int
    primitives: int


def write(
    file: BinaryIO,
    size: int,
    *,
    release: str = "2.13",
    threads: int = 8,
    seed: int = 0,
    layers: int = 12,
    hidden: int = 768,
) -> Totals:
    """Write a log of at least so many bytes. Raises ValueError for a release that is not known."""
    writer = _Writer(release, threads, seed, bert(layers, hidden))
    totals = Totals()
    totals.bytes += file.write(writer.beginning())
    runs = [writer.run() for _ in range(_VARIANTS)]
    now = 2_000_000
    random = np.random.default_rng(seed)
    while totals.bytes < size:
        run = runs[int(random.integers(_VARIANTS))]
        number = _STEP + int(random.integers(_STEP))
        totals.bytes += file.write(writer.stamped(run, now, number))
        totals.steps += 1
        totals.executions += run.executions
        totals.primitives += run.primitives
        now += run.lasts + int(random.integers(2_000, 20_000))
    return totals


class _Writer:
    def __init__(self, release: str, threads: int, seed: int, model: Sequence[Layer]) -> None:
        self.dialect = dialect(release)
        self.prefixes = Prefixes(self.dialect, Levels(2))
        self.costs = Costs(seed)
        self.voice = Voice(4711, 0, self.dialect, self.prefixes, self.costs)
        self.instances = Instances()
        self.engine = Engine(threads)
        pool = [4720 + number for number in range(threads)]
        self.runs = Runs(self.instances, self.engine, pool, 4790)
        self.definition = FunctionDef(
            _NAME, (), tuple(_nodes(model)), (), (), prologue=(_node("_SOURCE", "NoOp", (), {}),)
        )
        self.shapes = {layer.name: layer.shapes for layer in model}
        self.called = False

    def beginning(self) -> bytes:
        """The first run, in which the function is made ready."""
        records, _, _ = self._records()
        return b"".join(self._line(record) for record in records)

    def run(self) -> _Run:
        """One more run, as it will be written."""
        began = self.voice.strand.now
        records, executions, primitives = self._records()
        lines = [self._line(record) for record in records]
        data = b"".join(lines)
        step = re.search(rb"step (-\d+) ", data)
        assert step is not None
        data = data.replace(step[1], b"-%d" % _STEP)
        # the step's number was replaced by one of another length: find the records again
        mark = rb"(?m)^I0000 00:00:(?=\d{10}\.)" if self.dialect.absl else rb"(?m)^(?=20\d\d-)"
        places = [found.end() for found in re.finditer(mark, data)]
        times = [record.time - began for record in records if record.kind != "onednn"]
        assert len(places) == len(times)
        return _Run(
            np.frombuffer(data, np.uint8).copy(),
            np.array(times, np.int64),
            np.array(places, np.intp),
            np.array([found.start() + 1 for found in re.finditer(rb"-%d" % _STEP, data)], np.intp),
            self.voice.strand.now - began,
            executions,
            primitives,
        )

    def stamped(self, run: _Run, now: int, step: int) -> memoryview:
        """The run as it is at that time, with that step's number."""
        data = run.data
        times = BEGIN + now + run.times
        if self.dialect.absl:
            text = _digits(times // 1_000_000, 10), _digits(times % 1_000_000, 6)
            data[run.places[:, None] + np.arange(10)] = text[0]
            data[run.places[:, None] + np.arange(11, 17)] = text[1]
        else:
            self._classic(run, times)
        number = np.frombuffer(str(step).encode(), np.uint8)
        data[run.steps[:, None] + np.arange(19)] = number
        return data.data

    @staticmethod
    def _classic(run: _Run, times: NDArray[np.int64]) -> None:
        seconds = times // 1_000_000
        for second in range(int(seconds[0]), int(seconds.max()) + 1):  # mostly one
            chosen = run.places[seconds == second]
            text = np.frombuffer(classic_time(second * 1_000_000)[:20].encode(), np.uint8)
            run.data[chosen[:, None] + np.arange(20)] = text
        micros = _digits(times % 1_000_000, 6)
        run.data[run.places[:, None] + np.arange(20, 26)] = micros

    def _records(self) -> tuple[list[Record], int, int]:
        """Say one call; its records in the order of their times."""
        voice = self.voice
        execution = Execution("eager", "call", _NAME, _NAME, function="train_function")
        dispatch = Dispatch(_NAME, execution, (), {}, self.called, is_function=True)
        voice.dispatches.append(dispatch)
        call_begins(voice, _NAME, 0, cached=self.called)
        if not self.called:
            self.instances.make(voice, _NAME, self.definition, Events())
        self.called = True
        instance = self.instances.of(self.definition)
        self.runs.begin(voice, _NAME, self.definition, instance, dispatch)
        for node in (*self.definition.prologue, *self.definition.nodes):
            shapes = self.shapes.get(node.name, ())
            self.runs.node_begins(voice, node)
            self.runs.node_ends(voice, node, [_Shaped(shape) for shape in shapes])
        self.runs.end(voice, _NAME, None)
        voice.dispatches.pop()
        voice.say(
            "exiting", f"Exiting eager executing local operation '{_NAME}', status code is OK"
        )
        strand = voice.strand
        records, strand.records = sorted(strand.records, key=lambda each: each.time), []
        executions, strand.executions = len(strand.executions), []
        primitives, strand.primitives = len(strand.primitives), []
        return records, executions, primitives

    def _line(self, record: Record) -> bytes:
        if record.kind == "onednn":
            return f"{record.text}\n".encode()
        prefix = self.prefixes.of(record.kind, BEGIN + record.time, record.thread)
        return f"{prefix}{record.text}\n".encode()


@dataclass(frozen=True)
class _Shaped:
    """A tensor of which only the shape matters."""

    sizes: tuple[int, ...]


def _digits(numbers: NDArray[np.int64], count: int) -> NDArray[np.uint8]:
    """Decimal digits as characters, one row each."""
    powers = 10 ** np.arange(count - 1, -1, -1, dtype=np.int64)
    return (numbers[:, None] // powers % 10 + 48).astype(np.uint8)


def _nodes(model: Sequence[Layer]) -> Iterator[NodeDef]:
    for layer in model:
        yield _node(layer.name, layer.op, layer.inputs, layer.attributes, layer.shapes)


def _node(
    name: str,
    op: str,
    inputs: Sequence[str],
    attributes: dict[str, Any],
    shapes: Sequence[tuple[int, ...]] = (),
) -> NodeDef:
    dtypes = tuple(resource if op == "_Arg" and not shape else float32 for shape in shapes)
    definition = OpDef(op, lambda _: [(float32, UNKNOWN)], lambda: None)
    return NodeDef(
        name, definition, tuple((each, 0) for each in inputs), (), attributes, CPU, dtypes
    )
