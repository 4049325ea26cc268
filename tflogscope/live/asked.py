"""What takes the whole model: findings now and then, and what is asked for. One thing at a time.

The model reads all that has been scanned so far, so the longer the log, the longer it takes. It
runs in a thread, and findings wait for so long that they take a small share of the time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tflogscope.errors import TflogscopeError

if TYPE_CHECKING:
    from tflogscope.live.growing import Growing
    from tflogscope.model.run import Run

_REST = 32  # times as long as the last run of the model: 3 % of a core
_LEAST_SECONDS = 2.0  # between two runs of it; and after the first, which loads the model


@dataclass(slots=True)
class Found:
    """A finding, and when it was first found (`time.time`)."""

    facts: dict[str, Any]
    since: float


class Asked:
    """Findings of a growing log, and answers of its model."""

    def __init__(self, growing: Growing) -> None:
        self.findings: list[Found] = []
        self.lines = 0
        """How many lines of the log these are of."""
        self._growing = growing
        self._thread: threading.Thread | None = None
        self._take: Callable[[], None] = lambda: None
        self._next = 0.0
        self._rest = 0

    @property
    def is_busy(self) -> bool:
        """Whether the model is at work."""
        return self._thread is not None

    def look(self, *, find: bool = True) -> None:
        """Take what was found or answered, and look for findings if it is time for it."""
        if self._thread is not None:
            if self._thread.is_alive():
                return
            self._thread = None
            self._take()
        lines = self._growing.lines
        if find and time.monotonic() >= self._next and lines > self.lines:
            self.ask(lambda run: run.findings.to_dicts(), lambda facts: self._found(facts, lines))

    def ask(self, question: Callable[[Run], Any], then: Callable[[Any], None]) -> None:
        """Put a question to the model when it is not busy; `look` hands the answer on.

        The answer is a TflogscopeError where the model raised one.
        """
        apart, answer = self._growing.apart(), list[Any]()

        def work() -> None:
            began = time.monotonic()
            try:
                answer.append(question(apart.run()))
            except BaseException as error:  # noqa: BLE001  (raised again by `look`)
                answer.append(error)
            now = time.monotonic()
            self._next = now + max(_LEAST_SECONDS, self._rest * (now - began))
            self._rest = _REST

        def take() -> None:
            if isinstance(answer[0], BaseException) and not isinstance(answer[0], TflogscopeError):
                raise answer[0]
            then(answer[0])

        self._take = take
        self._thread = threading.Thread(target=work, name="tflogscope-asked", daemon=True)
        self._thread.start()

    def _found(self, facts: list[dict[str, Any]], lines: int) -> None:
        before = {found.facts["id"]: found.since for found in self.findings}
        now = time.time()
        self.findings = [Found(each, before.get(each["id"], now)) for each in facts]
        self.lines = lines
