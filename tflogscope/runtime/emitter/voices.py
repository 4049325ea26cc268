"""The threads of the program: each has a clock of its own; their records come out in one order."""

from __future__ import annotations

import threading
import time
import weakref

from tflogscope.runtime.emitter.costs import Costs
from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.emitter.output import Output
from tflogscope.runtime.emitter.prefixes import Prefixes
from tflogscope.runtime.emitter.voice import Voice

__all__ = ["Voices"]


class Voices:
    """All threads of the program that have said something."""

    def __init__(
        self, output: Output, dialect: Dialect, prefixes: Prefixes, costs: Costs, pid: int
    ) -> None:
        self._output = output
        self._dialect = dialect
        self._prefixes = prefixes
        self._costs = costs
        self._pid = pid
        self._lock = threading.RLock()
        self._voices: weakref.WeakKeyDictionary[threading.Thread, Voice] = (
            weakref.WeakKeyDictionary()
        )
        self._begun = 0
        self.main = self.here()

    def here(self) -> Voice:
        """That of this thread."""
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
                voice = Voice(number, now, self._dialect, self._prefixes, self._costs)
                self._voices[thread] = voice
        elif len(self._voices) > 1 and voice is self.main and not voice.busy:
            with self._lock:
                self._join()
        return voice

    def _join(self) -> None:
        """The time of threads that have ended has passed for the main thread, too."""
        for thread, voice in list(self._voices.items()):
            if not thread.is_alive() and voice is not self.main:
                main = self.main.strands[0]
                main.now = max(main.now, voice.strands[0].now)
                self._hand_over(voice)
                del self._voices[thread]

    def _hand_over(self, voice: Voice) -> None:
        strand = voice.strands[0]
        self._output.add(strand.records, strand.executions, strand.primitives)
        strand.records, strand.executions, strand.primitives = [], [], []

    def flush(self, voice: Voice) -> None:
        """Write what no thread can come before any more."""
        if voice.busy:
            return
        with self._lock:
            self._join()
            self._hand_over(voice)
            self._output.flush(min(each.strands[0].now for each in self._voices.values()))

    def printed(self, text: str) -> None:
        """The program wrote something to its standard streams. What follows on the same line,
        with nothing between, is written with it: `print` writes its arguments one by one.
        """
        voice = self.here()
        last = voice.strand.records[-1] if voice.strand.records else None
        if last is not None and last.kind == "print" and not last.text.endswith("\n"):
            last.text += text
        else:
            voice.bare("print", text)
        if text.endswith("\n"):
            self.flush(voice)

    def before_fork(self) -> None:
        """What can be written is, lest both processes do it."""
        self.flush(self.here())

    def after_fork(self) -> None:
        """In the new process: what the other threads said is the other process' to write."""
        self._lock = threading.RLock()
        self._output.forget()
        here = self.here()
        self._voices = weakref.WeakKeyDictionary({threading.current_thread(): here})
        self.main = here
        strand = here.strands[0]
        strand.records, strand.executions, strand.primitives = [], [], []

    def close(self) -> None:
        """The process ends: what is left is written."""
        with self._lock:
            for voice in list(self._voices.values()):
                while len(voice.strands) > 1:  # a thread that was in the middle of something
                    inner = voice.strands.pop()
                    voice.strand.take(inner, voice.strand.now, voice.thread)
                self._hand_over(voice)
            self._output.close()

    @staticmethod
    def pause() -> None:
        """Let other threads go on."""
        _sleep(0.001)

    def sleep(self, seconds: float) -> None:
        """This thread sleeps by the clock of the log: until the others have come so far.

        Not at all if it is alone, and no longer if the main thread does nothing meanwhile.
        """
        voice = self.here()
        strand = voice.strand
        strand.now += int(seconds * 1e6)
        seen, since = self.main.strands[0].now, time.monotonic()
        while threading.active_count() > 1:
            now = self.main.strands[0].now
            if now != seen and voice is not self.main:
                seen, since = now, time.monotonic()
            if time.monotonic() - since > max(seconds, 2.0) or (
                voice is not self.main and now >= strand.now
            ):
                return  # the others wait for this thread, or have come far enough
            _sleep(0.001)


_sleep = time.sleep
