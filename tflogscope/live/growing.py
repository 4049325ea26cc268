"""The scan of a log that is being written: each part once, into columns that grow."""

from __future__ import annotations

import copy
from ctypes import byref
from typing import TYPE_CHECKING

from tflogscope.events.scan import SourceSpan
from tflogscope.events.store import Output, Store
from tflogscope.grammar.compiled import compile_grammar
from tflogscope.grammar.model import Grammar
from tflogscope.model.origin import header_of
from tflogscope.native import library as c
from tflogscope.sources.block import SourceAccount

if TYPE_CHECKING:
    from typing import Any

    from tflogscope.model.log_run import LogRun


class Growing:
    """All that has been scanned (`events.scan.Scanned`), and the lines that may need the next.

    A torn record is mended with lines that follow it, so the last lines wait for these (`add`), or
    until nothing has come for a while (`settle`).
    """

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = compile_grammar(grammar)
        self.store = Store(self.grammar)
        self.spans: list[SourceSpan] = []
        self.bytes = 0
        self._read_by = grammar
        self._output = Output(self.grammar)
        self._text, self._begin = b"", 0
        self._header: dict[str, Any] | None = None

    @property
    def lines(self) -> int:
        """Lines scanned so far."""
        return int(self.store.raw.lines)

    def begin(self, name: str, account: SourceAccount) -> None:
        """Begin a source: the log itself, or what came in the place of its file."""
        self.settle()
        self._text, self._begin = b"", 0
        classes = [0] * (c.HOT + len(self.grammar.messages))
        self.spans.append(SourceSpan(name, self.lines, account, classes))

    def add(self, text: bytes) -> None:
        """Scan whole lines, but the last ones."""
        if not self.bytes:
            self._header = header_of(text)
        self.bytes += len(text)
        self._text += text
        self._scan(self._text.rfind(b"\n", 0, -1) + 1, more=True)

    def settle(self) -> None:
        """Scan the last lines, too."""
        self._scan(len(self._text), more=False)

    def apart(self) -> Growing:
        """The same so far, for the model in a thread of its own; the scan goes on in this one."""
        found = copy.copy(self)
        found.store, found.spans = self.store.copy(), copy.deepcopy(self.spans)
        return found

    def run(self) -> LogRun:
        """The run so far. It takes over the store: nothing can be scanned after that."""
        from tflogscope.events.events import Events
        from tflogscope.model.log_run import LogRun

        return LogRun(Events(self, self._read_by), (), self._header)

    def _scan(self, end: int, *, more: bool) -> None:
        text, output = self._text, self._output
        while self._begin < end:
            reached = c.library().tflogscope_scan(
                byref(self.grammar.tables),
                text,
                len(text),
                self._begin,
                end,
                more,
                byref(output.raw),
            )
            self.store.settle(output, text)
            self._count()
            if reached == self._begin:  # a torn line whose rest is to come
                break
            self._begin = reached
        # The line before the next may be needed, too.
        kept = text.rfind(b"\n", 0, max(self._begin - 1, 0)) + 1
        self._text, self._begin = text[kept:], self._begin - kept

    def _count(self) -> None:
        span, raw = self.spans[-1], self._output.raw
        span.lines += raw.lines
        span.torn += raw.torn
        span.classes = [a + b for a, b in zip(span.classes, self._output.classes, strict=True)]
        span.dialects = [a + b for a, b in zip(span.dialects, raw.dialects, strict=True)]
