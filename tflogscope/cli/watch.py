"""`tflogscope watch`: a run while it goes on, on the whole terminal."""

from __future__ import annotations

import io
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

from tflogscope.cli.inputs import named_inputs
from tflogscope.cli.keys import INTERRUPT, keyboard
from tflogscope.cli.options import OwnGrammar, argument
from tflogscope.cli.output import print_text
from tflogscope.errors import UsageError
from tflogscope.exports.atomic import unwinding
from tflogscope.sources.discover import file_and_process
from tflogscope.sources.source import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.live import Live

    from tflogscope.cli.keys import Keys
    from tflogscope.live.follow import Receive
    from tflogscope.model.log_run import LogRun

_TICK = 0.5  # seconds between two pictures
_QUIET = 2.0  # seconds without a line until that is said
_KEYS = "q: quit and print the analysis · ↑↓: scroll"
_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "page-up": -10, "page-down": 10}


def watch(
    log: Annotated[
        str | None,
        argument(
            "LOG",
            "A growing log, one process of it (LOG#0), or - for standard input. "
            "Default: standard input if it is not a terminal.",
        ),
    ] = None,
    grammar: OwnGrammar = None,
) -> None:
    """Show the analysis of a running program, full screen.

    Redraws the screen of `analyze` as the log grows. Follows pipes and files that grow, are
    replaced or truncated.

    \b
    Keys: arrows scroll, q quits and prints the analysis.

    \b
    Examples:
      tflogscope watch run.log
      python train.py 2>&1 | tflogscope watch
    """
    [name] = named_inputs([log] if log else None)
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        raise UsageError("needs a terminal", "watch", "Use tflogscope analyze LOG instead.")
    from tflogscope.cli.analyze import draw_first_screen
    from tflogscope.live.follow import GrowingFile, pipe
    from tflogscope.views.analyze import first_screen

    path, *process = file_and_process(name) or (name,)
    file = None if name == STANDARD_INPUT else GrowingFile(path)
    receives = [pipe(io.FileIO(0, closefd=False), name)] if file is None else file
    watching = Watching(name, receives, grammar, *process)
    with unwinding(), keyboard() as keys:
        watching.show(keys)
    if file is not None:
        file.stop()
        watching.growing.scan.wait()
    run = watching.growing.run()
    run.events.require_usable()
    print_text(draw_first_screen(first_screen(run)))


class Watching:
    """A log that is shown while it grows."""

    def __init__(
        self,
        name: str,
        receives: Iterable[Receive],
        grammar: str | None = None,
        process: str | None = None,
    ) -> None:
        """`process`: which process of the log, if it has several."""
        from tflogscope.grammar.load import load_grammar
        from tflogscope.live.growing import Growing, Latest

        self.growing = Growing(name, receives, load_grammar(grammar), process)
        self._latest = Latest(self.growing, self._draw_run)
        self._name = name
        self._first = 0  # the line of the analysis at the top
        self._size = (80, 24)
        self._came = time.monotonic()
        self._bytes = 0  # that had come when it was last looked at

    def show(self, keys: Keys) -> None:
        """Show the log until a key ends it."""
        from rich.live import Live

        from tflogscope.views.text import make_console

        console = make_console(moves=True)
        with Live(
            console=console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as live:
            while True:
                tick = time.monotonic() + _TICK
                self._size = console.size
                self._look()
                self._draw(live)
                while (left := tick - time.monotonic()) > 0:
                    for key in keys(left):
                        if self._press(key):
                            return
                        self._draw(live)

    def _look(self) -> None:
        """Bring what is shown up to date. Raises what reading the log raised."""
        growing = self.growing
        ended = growing.scan.has_ended
        if ended:
            growing.scan.wait()
        self._latest.look(ended=ended)
        if growing.bytes > self._bytes:
            self._came, self._bytes = time.monotonic(), growing.bytes

    def _draw_run(self, run: LogRun) -> list[str]:
        """The analysis of the run so far, as wide as the terminal."""
        from tflogscope.views.analyze import analyze_document
        from tflogscope.views.terminal import drawn

        return drawn(analyze_document(run), width=self._size[0]).splitlines()

    def _draw(self, live: Live) -> None:
        from rich.text import Text

        from tflogscope.views.text import shorten, text

        width, height = self._size
        room, lines = max(height - 2, 1), self._latest.lines
        self._first = max(0, min(self._first, len(lines) - room))
        shown = "\n".join(lines[self._first : self._first + room])
        body = Text.from_ansi(shown) if lines else text("nothing to analyze yet")
        parts = [text(shorten(self._status(), width)), body, text(_KEYS, "bold")]
        live.update(Text("\n").join(parts), refresh=True)

    def _status(self) -> str:
        """How much of the log there is, and how long nothing has come."""
        from tflogscope.model.common.figures import count_of, duration, size_of

        growing, quiet = self.growing, time.monotonic() - self._came
        named = "standard input" if self._name == STANDARD_INPUT else self._name
        parts = [
            " ".join(filter(None, (named, growing.process))),
            f"{size_of(self._bytes)}, {count_of(growing.lines, 'line')}",
            f"started {len(growing.beginnings)} times" if len(growing.beginnings) > 1 else "",
        ]
        if growing.scan.has_ended:
            parts.append("log ended")
        elif quiet > _QUIET:
            parts.append(f"no new line for {duration(quiet * 1e6)}")
        if self._latest.of_lines < growing.lines:
            parts.append(f"analysis of the first {self._latest.of_lines:,} lines")
        return " · ".join(filter(None, parts))

    def _press(self, key: str) -> bool:
        """Do what a key asks for; whether it ends the watch. Raises KeyboardInterrupt."""
        if key == INTERRUPT:
            raise KeyboardInterrupt
        self._first += _STEPS.get(key, 0)
        return key in {"q", "Q"}
