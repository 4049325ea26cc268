"""Writes which line of the program asked for an eager op, and for a node of a graph.

It runs inside the recorded program, in TensorFlow 2.8 to 2.21 and Python 3.8 and later, without
tflogscope. `grammars/lines.toml` describes what it writes.

It does not use TensorFlow's op callbacks. They belong to one thread, they come when an op has
ended, and not at all for one that fails. Every release looks up the few functions of C++ that start
an op (`TFE_Py_FastPathExecute`, …) in their module each time it calls them, so a function that
writes a line and then calls the original can take their place. Nothing else changes.

It has no locks: a signal handler of the program, which runs ops of its own, would wait for itself.
What threads share is numbered by `next`, and kept in dictionaries, each in one step of Python.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import signal
import threading
from collections.abc import Callable, Sequence
from time import perf_counter, thread_time, time
from types import FrameType
from typing import Any

from tflogscope_faults import Faults  # type: ignore[import-not-found]  # it is beside this file
from tflogscope_stacks import (  # type: ignore[import-not-found]  # it is beside this file
    KNOWN,
    LINE,
    NAME,
    Stacks,
    word,
)
from tflogscope_traces import Traces  # type: ignore[import-not-found]  # it is beside this file

_TIMED = 10_000  # so many lines are timed
_LONG = 0.001  # seconds between two ops of a thread, from which on what it computed is written


class Lines:
    """The state: what was written. A process that is forked begins anew."""

    def __init__(self) -> None:
        self.on = True
        self.buffer: Any = None
        self.channel = _file_of(2)  # what it writes to
        self.writing: set[int] = set()  # threads that write a line now
        self.stacks = Stacks(self.write)
        self.graphs = itertools.count(1)
        self.forked()

    def forked(self) -> None:
        """Number everything from the beginning, for this process."""
        self.process = os.getpid()
        self.stacks.forked()
        self.taped: dict[int, tuple[Any, int]] = {}
        self.traces = Traces()
        self.faults = Faults()
        self.spent = 0.0  # seconds that the program waited for the hook
        self.said_cost = False
        self.left_out = 0  # lines that could not be written
        self.thread = threading.local()
        self.took: list[float] = []  # seconds of lines about ops with stacks that were known

    def spend(self, call: Callable[..., object], *args: Any) -> None:
        """Do something, unless it is off, and take its time."""
        if self.on:
            began = perf_counter()
            try:
                call(*args)
            # The program does not wait for it, or has no room left on its own stack.
            except (BlockingIOError, RecursionError):
                self.left_out += 1
            except Exception as error:
                if _of_a_handler(error):
                    raise
                self.off(error)
            self.spent += perf_counter() - began

    # ---- what is written -----------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write one line, at once and past all buffers.

        Raises BlockingIOError where it can't be: descriptor 2 is a file of the program's own, or a
        signal came while this thread wrote half a line to a terminal.
        """
        me = threading.get_ident()
        if me in self.writing or _file_of(2) != self.channel:
            raise BlockingIOError
        self.writing.add(me)
        try:
            data = f"tflogscope {text}\n".encode("ascii", "backslashreplace")
            while data:
                data = data[os.write(2, data) :]
        finally:
            self.writing.discard(me)

    def op(self, args: Sequence[Any], at: int, frame: FrameType) -> None:
        """The op, or function, whose name is argument `at` is about to be run eagerly."""
        self.computed()
        began, before, name = perf_counter(), len(self.stacks.texts), args[at]
        if isinstance(name, bytes):
            name = name.decode()
        number = self.stacks.number(frame)
        self.write(f"op {threading.get_native_id()} {self.process}.{number} {name}")
        if before == len(self.stacks.texts) and len(self.took) < _TIMED:
            self.took.append(perf_counter() - began)
        self.faults.begin(name)

    def ended(self) -> None:
        """An op that was announced has run."""
        self.faults.end()
        self.thread.ended = perf_counter(), thread_time()

    def computed(self) -> None:
        """Write how long this thread computed since its last op, if that was long ago.

        The rest it slept, or waited: for a processor, or for another thread of Python.
        """
        ended, self.thread.ended = getattr(self.thread, "ended", None), None
        if ended is not None and perf_counter() - ended[0] > _LONG:
            took = round((thread_time() - ended[1]) * 1e6)
            self.write(f"computed {threading.get_native_id()} {self.process} {took}")

    def node(self, op: Any, frame: FrameType) -> None:
        """A node was added to a graph."""
        graph = op.graph
        forward = _forward(frame)
        number = forward or self.stacks.number(frame)
        if number:
            kind = "gradient" if forward else "node"
            _nodes(graph)[op.name] = number
            self.write(f"{kind} {self.graph(graph)} {self.process}.{number} {word(op.name)}")

    def function(self, args: Sequence[Any], frame: FrameType) -> None:
        """A graph is made into a function, as a rule because a tf.function was traced."""
        name = args[1].decode() if isinstance(args[1], bytes) else args[1]
        graph = frame.f_locals.get("graph", frame.f_locals.get("temp_graph"))
        if graph is not None:
            number = f"{self.process}.{self.stacks.number(frame)}"
            self.write(f"function {self.graph(graph)} {number} {word(name)}")
        try:
            self.trace(name, graph, frame)
        except Exception:  # noqa: BLE001  an argument that can't be looked at; lines go on
            return

    def trace(self, name: str, graph: Any, frame: FrameType) -> None:
        """A tf.function was traced, if this is one."""
        traced = self.traces.traced(name, frame)
        if traced is None:
            return
        function, number, place, arguments = traced
        place = place and [self.stacks.relative(place[0]), place[1]]
        took = None
        if hasattr(graph, "_tflogscope_began"):
            began, spent = graph._tflogscope_began  # noqa: SLF001
            took = round((perf_counter() - began - (self.spent - spent)) * 1e6)
        text = word(json.dumps([place, arguments, took], separators=(",", ":")))
        while len(text) > LINE and arguments:
            arguments.pop()
            text = word(json.dumps([place, arguments, took], separators=(",", ":")))
        self.write(f"trace {self.process}.{function} {number} {word(name)} {text}")

    def tape(self, args: Sequence[Any]) -> None:
        """A tape takes down a node; `_forward` finds it by its attributes."""
        attributes, outputs = args[2:4]
        graph = getattr(outputs[0], "graph", None) if outputs else None
        if attributes and graph is not None:
            if len(self.taped) > KNOWN:
                self.taped = {}
            self.taped[id(attributes)] = (attributes, _nodes(graph).get(outputs[0].op.name, 0))

    def graph(self, graph: Any) -> str:
        """The graph's number, with the process that gave it."""
        number: str | None = getattr(graph, "_tflogscope_number", None)
        if number is None:
            # Not in its `__dict__`: what is given may be a weak reference that acts as the graph.
            number = graph._tflogscope_number = f"{self.process}.{next(self.graphs)}"  # noqa: SLF001
        return number

    def cost(self) -> None:
        """The program's own code has ended: what a line about an op cost, the median, and now."""
        if self.said_cost:
            return
        self.said_cost = True
        if self.on and self.stacks.texts:
            with contextlib.suppress(OSError):
                self.computed()  # since its last op
            with contextlib.suppress(OSError):
                if self.took:
                    median = sorted(self.took)[len(self.took) // 2]
                    self.write(f"cost {self.process} {round(median * 1e9)} {round(time() * 1e6)}")
                threads = str(threading.get_native_id())
                with contextlib.suppress(OSError):
                    threads = " ".join(os.listdir("/proc/self/task"))  # noqa: PTH208  Linux
                self.write(f"threads {self.process} {threads}"[:LINE])
                if faults := self.faults.text():
                    self.write(f"faults {self.process} {faults}")
        if self.left_out:
            with contextlib.suppress(OSError):
                self.write(f"left_out {self.process} {self.left_out}")

    def off(self, error: Exception) -> None:
        """Stop for good: an error here is never the program's."""
        if self.on:
            self.on = False
            reason = word(f"{type(error).__name__}: {error}".replace(" ", "_"))[:NAME]
            with contextlib.suppress(OSError):
                self.write(f"off {self.process} {reason}")


def _file_of(descriptor: int) -> tuple[int, int] | None:
    """Which file that is; None: it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _of_a_handler(error: Exception) -> bool:
    """Whether a signal handler of the program raised this: it came while the hook was at work."""
    codes = set()
    for number in range(1, signal.NSIG):
        with contextlib.suppress(ValueError):  # not a signal of this system
            handler: Any = signal.getsignal(number)
            while isinstance(handler, functools.partial):
                handler = handler.func
            if callable(handler):
                functions = getattr(handler, "__func__", handler), type(handler).__call__
                codes |= {getattr(function, "__code__", None) for function in functions}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _nodes(graph: Any) -> dict[str, int]:
    """The stacks of a graph's nodes, by their names."""
    nodes: dict[str, int] | None = getattr(graph, "_tflogscope_nodes", None)
    if nodes is None:
        nodes = graph._tflogscope_nodes = {}  # noqa: SLF001
    return nodes


def _forward(frame: FrameType | None) -> int:
    """The stack of the forward node if a gradient of it is being made, else 0."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in _GRADIENTS and code.co_filename.endswith(_GRADIENTS[code.co_name]):
            values = frame.f_locals
            op = values.get("op")
            if op is not None:
                return _nodes(op.graph).get(op.name, 0)
            # A tape hands back the very tuple of attributes that it was given.
            attributes, number = lines.taped.get(id(values.get("attr_tuple")), (None, 0))
            return number if attributes is values.get("attr_tuple") else 0
        frame = frame.f_back
    return 0


_GRADIENTS = {
    "_gradient_function": "backprop.py",
    "_MaybeCompile": "gradients_util.py",
}

lines = Lines()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lines.forked)
