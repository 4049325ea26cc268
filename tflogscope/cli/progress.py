"""A progress bar on standard error: on a terminal only, and only for work that takes a while."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress

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
    start = time.monotonic()
    bar: Progress | None = None

    def advance(done: int, total: int | None, text: str = "reading") -> None:
        nonlocal bar
        if bar is None:  # rich is not imported before `PATIENCE` has passed
            if time.monotonic() - start < PATIENCE:
                return
            bar = _draw()
        bar.update(bar.task_ids[0], completed=done, total=total, description=text)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()


def _draw() -> Progress:
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
    bar.add_task("", total=None)
    bar.start()
    return bar
