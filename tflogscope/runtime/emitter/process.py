"""A process whose log is written: `python PROGRAM.py > run.log 2>&1`, with TensorFlow's settings.

What the program prints goes to the log in its place, and to the terminal as well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tflogscope.runtime import passes, telling
from tflogscope.runtime.eager import EAGER
from tflogscope.runtime.emitter.dialects import dialect
from tflogscope.runtime.emitter.emitter import Emitter
from tflogscope.runtime.emitter.faults import faults_named
from tflogscope.runtime.emitter.output import Output, Sink
from tflogscope.runtime.emitter.prefixes import Levels, Prefixes
from tflogscope.runtime.emitter.truth import Truth

__all__ = ["Settings", "writing"]


@dataclass(frozen=True)
class Settings:
    """What the environment of the process would say, and what is to go wrong."""

    release: str = "2.13"
    levels: Levels = field(default_factory=Levels)
    seed: int = 0
    threads: int = 2
    onednn: bool = True
    verbose: bool = True
    """`ONEDNN_VERBOSE=1`."""
    faults: Sequence[str] = ()


def _opened(path: Path) -> AbstractContextManager[Sink]:
    return path.open("wb")


@contextmanager
def writing(
    log: Path,
    settings: Settings,
    truth: Path | None = None,
    opened: Callable[[Path], AbstractContextManager[Sink]] = _opened,
) -> Iterator[Emitter]:
    """Write the log of what runs within. `opened` makes the files. Raises ValueError for a release
    or fault unknown, what `opened` does for files that can't be written.
    """
    chosen = dialect(settings.release)
    prefixes = Prefixes(chosen, settings.levels)
    faults = faults_named(settings.faults, settings.seed, prefixes)
    EAGER.clear_kernels()  # a new process has none
    with ExitStack() as stack:
        file = stack.enter_context(opened(log))
        told = None if truth is None else Truth(stack.enter_context(opened(truth)))
        output = Output(file, prefixes, told, faults)
        emitter = Emitter(
            output,
            chosen,
            prefixes,
            seed=settings.seed,
            threads=settings.threads,
            onednn=settings.onednn,
            verbose=settings.verbose,
        )
        stack.callback(emitter.close)
        stack.enter_context(passes.using(passes.Settings(onednn=settings.onednn)))
        stack.enter_context(telling.listen(emitter))
        stack.enter_context(_heard(emitter))
        stack.enter_context(_asleep(emitter))
        stack.enter_context(_forking(emitter))
        yield emitter


@contextmanager
def _heard(emitter: Emitter) -> Iterator[None]:
    """Let the emitter hear what is printed."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Heard(streams[0], emitter), _Heard(streams[1], emitter)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


@contextmanager
def _asleep(emitter: Emitter) -> Iterator[None]:
    """Let `time.sleep` go by the clock of the log."""
    original = time.sleep
    time.sleep = emitter.sleep  # type: ignore[assignment]
    try:
        yield
    finally:
        time.sleep = original


_emitters: list[Emitter] = []
"""Those that write now."""


def _before_fork() -> None:
    for each in _emitters:
        each.before_fork()


def _after_fork() -> None:
    for each in _emitters:
        each.after_fork()


if hasattr(os, "register_at_fork"):  # for good: Python forgets no hook
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


@contextmanager
def _forking(emitter: Emitter) -> Iterator[None]:
    """Let the emitter know when the program forks."""
    _emitters.append(emitter)
    try:
        yield
    finally:
        _emitters.remove(emitter)


class _Heard:
    """A text stream that hands on what is written to it, and tells it."""

    def __init__(self, stream: Any, emitter: Emitter) -> None:
        self._stream = stream
        self._emitter = emitter

    def write(self, text: str) -> int:
        """Write it to both."""
        if text:
            self._emitter.printed(text)
        self._stream.write(text)
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        """Write these."""
        for each in lines:
            self.write(each)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
