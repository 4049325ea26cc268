"""The lines of each Python thread. A `Voice` is what one thread says; its strands are nested: a step
within a call within a program, each by its own clock until it is over. `Voices` has those of all
threads, which take over each other's time where they meet.
"""

from __future__ import annotations

import random
import threading
import time
import weakref
from collections.abc import MutableMapping
from typing import Any

from tflogscope.runtime.emitter.output import BARE, Output, Prefixes
from tflogscope.runtime.emitter.records import Execution, Primitive, Record, Strand

_BY_GEMM = frozenset({"gemm_api", "inner_product"})


class Costs:
    """How long things take, in microseconds: a model, with chance in it. The same seed gives the same."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a model, no secret
        self._known: set[tuple[str, str]] = set()

    def number(self, bits: int) -> int:
        return self._random.getrandbits(bits)

    def kernel(self, size: int) -> int:
        return max(1, int((12 + size / 6_600) * (0.8 + 0.5 * self._random.random())))

    def primitive(self, kind: str, problem: str, size: int) -> float:
        """Milliseconds of a primitive; a new one is made first, and the first product loads much."""
        time = 2.0 + size / 4_000
        if kind in _BY_GEMM and not any(known in _BY_GEMM for known, _ in self._known):
            time += 30_000 + 20_000 * self._random.random()
        elif (kind, problem) not in self._known:
            time += 60 + 300 * self._random.random()
        self._known.add((kind, problem))
        ticks = round(time * (0.8 + 0.5 * self._random.random()) * 4.096)
        return max(1, ticks) / 4096  # the clock that oneDNN reads


About = Execution | Primitive | None
Dispatch = tuple[Execution, Any, Any]
"""An eager op, or a call, that has begun: with its inputs and attributes."""


class Voice:
    """One thread."""

    def __init__(self, thread: int, now: int, prefixes: Prefixes, costs: Costs) -> None:
        self.dialect, self.costs, self.shows = prefixes.dialect, costs, prefixes.shows
        self.strands = [Strand(thread, now)]
        self.dispatches: list[Dispatch] = []
        self.steps: list[Any] = []
        self.items: list[Any] = []

    @property
    def strand(self) -> Strand:
        """The innermost one."""
        return self.strands[-1]

    @property
    def busy(self) -> bool:
        """Is it in the middle of something?"""
        return len(self.strands) > 1 or bool(self.dispatches)

    def say(self, kind: str, text: str, cost: int = 4, about: About = None) -> None:
        strand = self.strands[-1]
        strand.now += max(1, round(cost * self.dialect.pace))
        record = Record(strand.now, strand.thread, kind, text, about)
        if isinstance(about, Execution) and record.stands:
            about.start = strand.now
        if kind in BARE or self.shows(kind):
            strand.records.append(record)

    def began(self, execution: Execution) -> None:
        """It begins now, on this thread."""
        strand = self.strands[-1]
        execution.start = execution.end = strand.now
        execution.thread = strand.thread
        strand.ran.append(execution)


class Voices:
    """All threads."""

    def __init__(self, output: Output, prefixes: Prefixes, costs: Costs, pid: int) -> None:
        self._output, self._pid, self._given = output, pid, (prefixes, costs)
        self._lock = threading.RLock()
        self._voices: MutableMapping[threading.Thread, Voice] = weakref.WeakKeyDictionary()
        self._begun = 0
        self.main = self.here()

    def here(self) -> Voice:
        thread = threading.current_thread()
        voice = self._voices.get(thread)
        if voice is None:
            with self._lock:
                number, now = self._pid, 0
                if self._begun:  # not the first, which is the main thread
                    self._join()
                    number += 200 + self._begun
                    now = max(self.main.strands[0].now, self._output.flushed)
                self._begun += 1
                voice = self._voices[thread] = Voice(number, now, *self._given)
        elif len(self._voices) > 1 and voice is self.main and not voice.busy:
            with self._lock:
                self._join()
        return voice

    def _join(self) -> None:
        """Threads that have ended: the main thread's time is theirs, if it waited for them."""
        for thread, voice in list(self._voices.items()):
            if not thread.is_alive() and voice is not self.main:
                main = self.main.strands[0]
                main.now = max(main.now, voice.strands[0].now)
                self._hand_over(voice)
                del self._voices[thread]

    def _hand_over(self, voice: Voice) -> None:
        strand = voice.strands[0]
        self._output.add(strand)
        strand.records, strand.ran = [], []

    def flush(self, voice: Voice) -> None:
        """Write all that can no longer be preceded by anything."""
        if not voice.busy:
            with self._lock:
                self._join()
                self._hand_over(voice)
                self._output.flush(min(each.strands[0].now for each in self._voices.values()))

    def printed(self, text: str) -> None:
        voice = self.here()
        last = voice.strand.records[-1] if voice.strand.records else None
        if last is not None and last.kind == "print" and not last.text.endswith("\n"):
            last.text += text
        else:
            voice.say("print", text, 1)
        if text.endswith("\n"):
            self.flush(voice)

    def sleep(self, seconds: float) -> None:
        """`time.sleep`: the virtual clock goes on, and other threads catch up."""
        voice = self.here()
        voice.strand.now += int(seconds * 1e6)
        seen, since = self.main.strands[0].now, time.monotonic()
        while threading.active_count() > 1:
            now = self.main.strands[0].now
            if now != seen and voice is not self.main:
                seen, since = now, time.monotonic()
            waited = time.monotonic() - since > max(seconds, 2.0)
            if waited or (voice is not self.main and now >= voice.strand.now):
                return  # the others wait for this thread, or have come far enough
            _sleep(0.001)

    def close(self) -> None:
        with self._lock:
            for voice in list(self._voices.values()):
                while len(voice.strands) > 1:  # a thread that was in the middle of something
                    inner = voice.strands.pop()
                    voice.strand.take(inner, voice.strand.now, voice.strand.thread)
                self._hand_over(voice)
            self._output.close()


_sleep = time.sleep
