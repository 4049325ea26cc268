"""A log that is being written as an input of the model: scanned as it comes, each byte once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
