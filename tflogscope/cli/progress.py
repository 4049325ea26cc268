"""A progress bar on standard error: on a terminal only, and only for work that takes a while."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress, TaskID

PATIENCE = 0.5  # seconds without a bar


Advance: TypeAlias = "Callable[..., None]"
"""Takes bytes done, bytes in all where that is known, and what is being done."""


@contextmanager
def progress_bar() -> Iterator[Advance | None]:
    """Yield what `open_log` takes as `progress`: a function of bytes done and bytes in all.

    Yields None where there is no terminal to draw on. The bar disappears when the block ends.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    bar = _LateBar()
    try:
        yield bar.advance
    finally:
        bar.close()


class _LateBar:
    """Draws nothing, and does not import rich, before `PATIENCE` has passed."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._drawn: tuple[Progress, TaskID] | None = None

    def advance(self, done: int, total: int | None, text: str = "reading") -> None:
        """See `Advance`."""
        if self._drawn is None:
            if time.monotonic() - self._start < PATIENCE:
                return
            self._drawn = _draw()
        bar, task = self._drawn
        bar.update(task, completed=done, total=total, description=text)

    def close(self) -> None:
        """Remove the bar."""
        if self._drawn is not None:
            self._drawn[0].stop()


def _draw() -> tuple[Progress, TaskID]:
    from rich import progress

    from tflogscope.views.text import make_console

    bar = progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
        console=make_console(sys.stderr),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task("", total=None)
