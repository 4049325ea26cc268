"""A log that is being written as an input of the model: scanned as it comes, each byte once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from tflogscope.errors import TflogscopeError
from tflogscope.events.scan import Scan
from tflogscope.live.figures import Figures, Row, read_figures
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
        self, name: str, receives: Iterable[Receive], grammar: Grammar, asked: str | None = None
    ) -> None:
        """`receives`: what gives the text of the log, and then that of each file in its place.

        `asked`: which process of it, if it has several.
        """
        self.grammar, self._asked = grammar, asked
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
        return sum(each.account.bytes for each in self.beginnings)

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


# ---- the model of it, run again now and then, and what it answers --------------------------------
# It reads all that has been scanned so far, in a thread, so the log is followed and keys are obeyed
# meanwhile. Then it rests ten times as long as it took: never more than a tenth of a core.

_REST = 10  # times as long as the last run of the model


class Latest:
    """The latest run of a growing log: its figures and findings, and an answer."""

    def __init__(self, growing: Growing) -> None:
        self.figures = Figures()
        self.findings: list[Row] = []
        """Rows of the table, with `since`: when each was first found (`time.time`)."""
        self.answer: Row | TflogscopeError | None = None
        """What the run said to the last question (`explain`), or that it can't."""
        self._growing = growing
        self._run: LogRun | None = None
        self._asked: str | None = None
        self._thread = threading.Thread()
        self._error: BaseException | None = None
        self._next = 0.0

    def explain(self, op: str) -> None:
        """Ask why an op ran where it ran: `answer` has it after a while."""
        self._asked, self.answer = op, None

    def look(self, *, paused: bool = False, ended: bool = False) -> None:
        """Have the model answer, or read what is new if it is time for it, or the log has `ended`.

        Raises what the model raised.
        """
        if self._thread.is_alive():
            return
        if self._error is not None:
            raise self._error
        run, asked = self._run, self._asked
        is_due = ended or time.monotonic() >= self._next
        if run is not None and asked is not None:
            self._asked = None
            self._begin(lambda: self._answer(run, asked))
        elif is_due and not paused and self._growing.lines > self.figures.lines:
            self._run = None  # two runs would take twice the memory
            self._begin(self._read)

    def _begin(self, work: Callable[[], None]) -> None:
        """Do this in a thread; nobody waits for it at the end."""

        def call() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001  (raised again by `look`)
                self._error = error

        self._thread = threading.Thread(target=call, name="tflogscope-model", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        began, run = time.monotonic(), self._growing.run()
        figures, findings, now = read_figures(run), run.findings.to_dicts(), time.time()
        before = {each["id"]: each["since"] for each in self.findings}
        self.findings = [each | {"since": before.get(each["id"], now)} for each in findings]
        is_first = not self.figures.lines  # it loads the model, too
        self.figures, self._run = figures, run
        took = time.monotonic() - began
        self._next = time.monotonic() + (0 if is_first else _REST * took)

    def _answer(self, run: LogRun, op: str) -> None:
        try:
            self.answer = run.explain(op=op)
        except TflogscopeError as error:
            self.answer = error
