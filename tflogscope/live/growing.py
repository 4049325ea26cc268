"""A log that is being written as an input of the model: scanned as it comes, each byte once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from tflogscope.events.scan import Scan
from tflogscope.live.follow import Beginning, Receive

if TYPE_CHECKING:
    from tflogscope.grammar.model import Grammar
    from tflogscope.model.log_run import LogRun


_PATIENCE_SECONDS = 0.4


class Growing:
    """A log that is being written. It is read and scanned in threads of their own.

    A torn record is mended with lines that follow it, so the last lines wait for these, or until
    nothing has come for a while.
    """

    def __init__(
        self, name: str, receives: Iterable[Receive], grammar: Grammar, process: str | None = None
    ) -> None:
        """`receives`: what gives the text of the log, and then that of each file in its place.

        `process`: which process of it, if it has several.
        """
        self.grammar, self._asked = grammar, process
        self.beginnings: list[Beginning] = []
        """The log itself, and what came in the place of its file."""
        self.scan = Scan(self._begin(name, receives), grammar, 1, _PATIENCE_SECONDS)
        """The scan under way; it can be waited for, and raises what went wrong."""

    @property
    def lines(self) -> int:
        """Lines scanned so far."""
        return int(self.scan.store.raw.lines)

    @property
    def bytes(self) -> int:
        """Bytes read so far."""
        return sum(beginning.account.bytes for beginning in self.beginnings)

    @property
    def process(self) -> str:
        """Which process of the log it is, if what is around its lines says that."""
        return self.beginnings[-1].account.process if self.beginnings else ""

    def run(self) -> LogRun:
        """The run so far: a run like any other, while the scan goes on."""
        from tflogscope.events.events import Events
        from tflogscope.model.log_run import LogRun

        return LogRun(Events(self.scan.so_far(), self.grammar), (), self.beginnings[0].header)

    def _begin(self, name: str, receives: Iterable[Receive]) -> Iterator[Beginning]:
        for number, receive in enumerate(receives):
            shown = f"{name} ({number + 1})" if number else name
            beginning = Beginning(shown, receive, self.grammar, self._asked)
            self.beginnings.append(beginning)
            yield beginning


# ---- the model of it, run again now and then -----------------------------------------------------
# It reads all that has been scanned so far, in a thread, so the log is followed and keys are obeyed
# meanwhile. Then it rests ten times as long as it took: never more than a tenth of a core.

_REST = 10  # times as long as the last run of the model


class Latest:
    """What `read` makes of the latest run of a growing log."""

    def __init__(self, growing: Growing, read: Callable[[LogRun], list[str]]) -> None:
        self.lines: list[str] = []
        """What was read; empty before the first run."""
        self.of_lines = 0
        """How many lines of the log that is of."""
        self._growing, self._read_run = growing, read
        self._thread = threading.Thread()
        self._error: BaseException | None = None
        self._next = 0.0

    def look(self, *, ended: bool = False) -> None:
        """Have the model read what is new if it is time for it, or the log has `ended`.

        Raises what the model raised.
        """
        if self._thread.is_alive():
            return
        if self._error is not None:
            raise self._error
        is_due = ended or time.monotonic() >= self._next
        if is_due and self._growing.lines > self.of_lines:
            self._thread = threading.Thread(target=self._read, name="tflogscope-model", daemon=True)
            self._thread.start()  # nobody waits for it at the end

    def _read(self) -> None:
        try:
            began, run = time.monotonic(), self._growing.run()
            lines = sum(span.lines for span in run.events.spans)
            is_first = not self.of_lines  # it loads the model, too
            self.lines, self.of_lines = self._read_run(run), lines
            took = time.monotonic() - began
            self._next = time.monotonic() + (0 if is_first else _REST * took)
        except BaseException as error:  # noqa: BLE001  (raised again by `look`)
            self._error = error
