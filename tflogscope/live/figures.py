"""The figures of a log so far: what is new is added up once, when it comes.

What takes more than a sum (causes, which op ran a primitive) is the model's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tflogscope.events.times import NO_TIME
from tflogscope.grammar.rewriters import ONEDNN, names_of
from tflogscope.live.calls import Calls
from tflogscope.live.news import News
from tflogscope.live.nodes import Nodes
from tflogscope.live.primitives import Primitives
from tflogscope.live.sums import Op, Sums

if TYPE_CHECKING:
    from tflogscope.grammar.model import Grammar
    from tflogscope.live.growing import Growing


class Figures:
    """Sums over all that `growing` has scanned."""

    def __init__(self, growing: Growing, grammar: Grammar) -> None:
        self._news = News(growing.store, growing.grammar.dialects)
        self._sums = Sums()
        self._nodes = Nodes(self._news, self._sums)
        self.calls = Calls(self._news, self._sums, grammar, growing.grammar.files)
        self.primitives = Primitives(self._news)
        self.tracing_since: int | None = None
        """Since when Python seems to trace a function, µs."""
        self._others = -1
        self.last: int | None = None
        """The time of the last records, µs."""

    def advance(self) -> None:
        """Add what is new."""
        self._news.take()
        self.calls.advance()
        self._nodes.advance()
        self.primitives.advance()
        self._follow_tracing()
        for table in ("nodes", "texts"):
            times = self._news.us(*self._news.rows(table, "clock", "micros"))
            times = times[-1:][times[-1:] != NO_TIME]
            self.last = max(filter(None, (self.last, *times.tolist())), default=None)

    def ops(self) -> list[Op]:
        """Each op type that ran."""
        return [op for op in self._sums.ops() if op.eager or op.graph]

    @property
    def whose(self) -> str:
        """Whose kernels nodes were rewritten to."""
        return " and ".join(names_of(self._nodes.rewrites)) or ONEDNN

    def per_second(self, count: int) -> dict[str, list[int]]:
        """How many ops began eagerly, and as nodes of graphs, in each of the last seconds."""
        return self._sums.per_second(self._news.seconds[:-1], count)

    def _follow_tracing(self) -> None:
        """Tracing works out shapes and constants ahead, and records nothing else (`first_calls`).

        So do the passes that make a function ready, and a function that runs for the first time.
        """
        others = max(self.calls.last_at, self._nodes.last_at)
        if others > self._others or self.calls.making or self.calls.running:
            self.tracing_since, self._others = None, others
        at, times = self._nodes.folded
        times = times[(at > others) & (times != NO_TIME)]
        idle = not (self.calls.making or self.calls.running)
        if idle and self.tracing_since is None and len(times):
            self.tracing_since = int(times[0])
