"""What has begun and not ended yet: eager ops, calls of functions, functions being made ready.

A thread that the log does not print is -1. See `model.dispatches` for what the records mean.
"""

from __future__ import annotations

from dataclasses import dataclass

from tflogscope.events.times import NO_TIME

_PYTHON = "EagerPyFunc"  # an op that runs Python code, which may run eager ops
_WRAPPED = "__wrapped__"
_OPEN = 1000  # starts of a thread that are still waited for

Component = tuple[str, int]
"""A function, and the handle of its part."""


@dataclass(slots=True)
class _Eager:
    """An eager op that was dispatched."""

    name: str
    op: int
    time: int
    rewritten: bool


@dataclass(slots=True)
class _Making:
    """A function that is being made ready."""

    name: str
    time: int
    rewritten: bool = False
    is_over: bool = False
    """Whether its thread went on; of threads that are not printed it may be another one."""


class Spans:
    """Starts that no end has followed. What is open on a thread is in the order of the log."""

    def __init__(self) -> None:
        self.ended: list[tuple[int, int, bool]] = []
        """Eager ops that have ended: row, µs, whether on a rewrite's kernel."""
        self.rewritten: list[int] = []
        """Rows of eager ops that ran on a rewrite's kernel."""
        self._sent: dict[int, _Eager] = {}  # by thread: no component runs yet
        self._runs: dict[int, list[tuple[Component, _Eager | None]]] = {}
        self._named: set[Component] = set()  # components whose ends name them
        self._nests = False
        self._calls: dict[tuple[str, int], list[int]] = {}
        self._making: dict[int, list[_Making]] = {}
        self._handles: set[int] = set()  # of wraps that were rewritten
        self._enters = self._ends = False

    @property
    def making(self) -> list[tuple[str, int]]:
        """Functions that are being made ready, and since when."""
        making = [each for all_ in self._making.values() for each in all_]
        return [(each.name, each.time) for each in making if not each.is_over]

    @property
    def running(self) -> list[tuple[str, int]]:
        """Functions that run, and since when: where the log prints when they end."""
        known = self._calls.items() if self._enters or self._ends else ()
        return [(name, times[-1]) for (name, _), times in known if times]

    @property
    def eager(self) -> list[tuple[str, int]]:
        """The same of eager ops: the last one of each thread."""
        last = [runs[-1][1] for runs in self._runs.values() if runs and self._ends]
        return [(each.name, each.time) for each in last if each]

    # ---- eager ops ------------------------------------------------------------------------------

    def send(self, name: str, op: int, time: int, thread: int, *, rewritten: bool) -> None:
        """An eager op is dispatched."""
        self._go_on(thread)
        self._nests |= name == _PYTHON
        self._sent[thread] = _Eager(name, op, time, rewritten)
        if rewritten:
            self.rewritten.append(op)

    def run(self, component: Component, op: int, thread: int) -> None:
        """A component begins: that of the op that was sent, or of a function."""
        sent = self._sent.pop(thread, None)
        if sent is not None and sent.op != op:
            sent = None
        if sent is not None and not sent.rewritten and component[1] in self._handles:
            sent.rewritten = True
            self.rewritten.append(op)
        runs = self._runs.setdefault(thread, [])
        runs.append((component, sent))
        del runs[:-_OPEN]

    def end(self, component: Component, time: int) -> None:
        """A component has ended, on any thread."""
        self._named.add(component)
        for runs in self._runs.values():
            for run in runs:
                if run[0] == component:
                    runs.remove(run)
                    self._end(run[1], time)
                    return

    def end_last(self, time: int, thread: int, *, failed: bool) -> None:
        """The component that ran last on this thread has ended; its end does not name it."""
        runs = self._runs.get(thread, [])
        near = [run for run in runs if run[0] not in self._named]
        # A function in which an eager op runs, as Python code of its own, ends after it.
        near = [run for run in near if run[1]] or near
        if near:
            # Of several threads that are not printed, the first that began; a kernel that fails
            # mostly does so before it computes.
            run = near[-1 if thread >= 0 or self._nests or failed else 0]
            runs.remove(run)
            self._end(run[1], time)

    def _end(self, eager: _Eager | None, time: int) -> None:
        self._ends = True
        if eager is not None and (us := _between(eager.time, time)) is not None:
            self.ended.append((eager.op, us, eager.rewritten))

    # ---- calls ----------------------------------------------------------------------------------

    def enter(self, name: str, time: int, thread: int) -> None:
        """A call begins: from 2.11 on."""
        self._go_on(thread)
        self._enters = True
        self._begin(name, time, thread)

    def call(self, name: str, time: int, thread: int) -> None:
        """A call is dispatched: before 2.11 its begin."""
        self._go_on(thread)
        self._sent.pop(thread, None)
        if not self._enters:
            self._begin(name, time, thread)

    def leave(self, name: str, time: int, thread: int) -> int | None:
        """A call ends; what it took."""
        times = self._calls.get((name, thread))
        if not times:
            return None
        self._ends = True
        return _between(times.pop(0), time)

    def return_(self, name: str, time: int, thread: int) -> int | None:
        """The component of a call ends, maybe on another thread: before 2.11 the call's end."""
        if self._enters:
            return None
        began = [on for (called, on), times in self._calls.items() if called == name and times]
        return self.leave(name, time, thread if thread in began or not began else began[0])

    def _begin(self, name: str, time: int, thread: int) -> None:
        times = self._calls.setdefault((name, thread), [])
        if thread >= 0:
            times.clear()  # the end of the one before is lost
        times.append(time)
        del times[:-_OPEN]

    # ---- functions being made ready -------------------------------------------------------------

    def _go_on(self, thread: int) -> None:
        """A thread goes on: it has made its function ready, said it or not."""
        for each in self._making.get(thread, []):
            each.is_over = True
        if thread >= 0:
            self._making.pop(thread, None)

    def make(self, name: str, time: int, thread: int) -> None:
        """A function is being made ready."""
        making = self._making.setdefault(thread, [])
        making.append(_Making(name, time))
        del making[:-_OPEN]

    def made(self, name: str, thread: int) -> None:
        """It is ready."""
        making = self._making.get(thread, [])
        for each in making if thread < 0 else reversed(making):
            if each.name == name:
                making.remove(each)
                return

    def rewrite(self, thread: int) -> None:
        """A node of the function that is being made ready has got a rewrite's kernel."""
        if making := self._making.get(thread):
            making[-1].rewritten = True

    def finish(self, handle: int, thread: int) -> None:
        """A component of it has got a handle. The wrap of an eager op has that op in it."""
        making = self._making.get(thread)
        if making and making[-1].rewritten and making[-1].name.startswith(_WRAPPED):
            self._handles.add(handle)


def _between(begin: int, end: int) -> int | None:
    return end - begin if NO_TIME not in {begin, end} and end >= begin else None
