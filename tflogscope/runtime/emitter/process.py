"""A program's run becomes a log: what it prints, how it sleeps, what the runtime does."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tflogscope.runtime.core import telling
from tflogscope.runtime.core.conversion import forget_scalars
from tflogscope.runtime.core.eager import EAGER
from tflogscope.runtime.emitter.dialects import dialect
from tflogscope.runtime.emitter.faults import faults_named
from tflogscope.runtime.emitter.listener import Emitter
from tflogscope.runtime.emitter.output import Levels, Output, Prefixes
from tflogscope.runtime.emitter.records import Sink, Truth
from tflogscope.runtime.passes import SETTINGS


@dataclass(frozen=True)
class Settings:
    """How the log is to be."""

    release: str = "2.13"
    levels: Levels = field(default_factory=Levels)
    seed: int = 0
    threads: int = 2
    """On how many threads nodes run."""
    onednn: bool = True
    faults: Sequence[str] = ()


@contextmanager
def writing(
    log: Path,
    settings: Settings,
    truth: Path | None = None,
    opened: Callable[[Path], AbstractContextManager[Sink]] = lambda path: path.open("wb"),
) -> Iterator[Emitter]:
    """Write the log of what happens in it, and perhaps the truth. Raises ValueError for a release or
    a fault that is not known, OSError if a file can't be written.
    """
    prefixes = Prefixes(dialect(settings.release), settings.levels)
    faults = faults_named(settings.faults, settings.seed, prefixes)
    EAGER.clear_kernels()  # a new process has none
    forget_scalars()
    before, SETTINGS.onednn = SETTINGS.onednn, settings.onednn
    with ExitStack() as stack:
        stack.callback(lambda: setattr(SETTINGS, "onednn", before))
        file = stack.enter_context(opened(log))
        beside = None if truth is None else Truth(stack.enter_context(opened(truth)))
        output = Output(file, prefixes, beside, faults)
        emitter = Emitter(output, prefixes, settings.seed, settings.threads)
        stack.callback(emitter.close)
        stack.enter_context(telling.listen(emitter))
        stack.enter_context(redirect_stdout(_Heard(sys.stdout, emitter)))
        stack.enter_context(redirect_stderr(_Heard(sys.stderr, emitter)))
        stack.callback(setattr, time, "sleep", time.sleep)
        time.sleep = emitter.sleep  # type: ignore[assignment]
        yield emitter


# A child process says nothing here. NB: with TensorFlow it would write to the same log.
os.register_at_fork(after_in_child=lambda: setattr(telling, "listener", telling.Listener()))


class _Heard:
    """A stream of which the emitter hears."""

    def __init__(self, stream: Any, emitter: Emitter) -> None:
        self.stream, self._emitter = stream, emitter

    def write(self, text: str) -> int:
        if text and telling.listener is self._emitter:
            self._emitter.printed(text)
        self.stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
