"""`tflogscope watch`: a run while it goes on, on the whole terminal."""

from __future__ import annotations

import io
import os
import queue
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from tflogscope.cli.inputs import OwnGrammar, named_inputs
from tflogscope.cli.keys import INTERRUPT, keyboard
from tflogscope.cli.output import print_text
from tflogscope.errors import TflogscopeError, UsageError
from tflogscope.sources.source import STANDARD_INPUT

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from tflogscope.cli.keys import Keys
    from tflogscope.live.follow import Follow
    from tflogscope.model.log_run import LogRun

_TICK = 0.5  # seconds between two pictures
_SETTLE_SECONDS = 0.4  # without a new line: then the last lines wait for no other
_RATE_SECONDS = 3.0
_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "page-up": -10, "page-down": 10}


def watch(
    log: Annotated[
        str | None,
        typer.Argument(
            metavar="LOG",
            show_default=False,
            help="A log that is being written, or - for standard input. "
            "Without it, standard input is read if it is not a terminal.",
        ),
    ] = None,
    grammar: OwnGrammar = None,
) -> None:
    """Show a run while it goes on, on the whole terminal.

    What runs, or is made ready, right now and since when; eager ops and nodes of graphs each
    second; calls of functions; ops; oneDNN's share; and what is found. Each part of the log is read
    once. It follows a file that grows, is replaced or cut short, and pipes.

    \b
    Keys: p pauses, s sorts, / filters by op, arrows and enter explain an op, q quits into analyze.

    \b
    Examples:
      tflogscope watch run.log
      python train.py 2>&1 | tflogscope watch
    """
    [name] = named_inputs([log] if log else None)
    require_terminal("watch")
    from tflogscope.live.follow import Follow, GrowingFile, once, pipe

    file = None
    if name == STANDARD_INPUT:
        follow = Follow(once(pipe(io.FileIO(0, closefd=False), name)))
    elif Path(name).is_fifo():
        follow = Follow(once(pipe(io.FileIO(name), name)))
    else:
        file = GrowingFile(name)
        follow = Follow(file.begin)
    watching = Watching(name, follow, None if file is None else Path(name), grammar)
    with keyboard(interrupts=False) as keys:
        watching.show(keys)
    if file is not None:
        file.stop()
        while not watching.is_at_end:
            watching.take(time.monotonic() + _TICK)
    print_run(watching.run())


def require_terminal(what: str) -> None:
    """Raise UsageError if there is no terminal to draw on."""
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        raise UsageError(
            "there is no terminal to draw on", what, "tflogscope analyze LOG shows what there is."
        )


def print_run(run: LogRun) -> None:
    """Print what `tflogscope analyze` prints. Raises NothingRecognised."""
    from tflogscope.views.analyze import render
    from tflogscope.views.text import make_console

    run.events.require_recognised()
    console = make_console()
    with console.capture() as screen:
        render(run, console)
    print_text(screen.get())


class Watching:
    """A log that is followed: scanned as it comes, and shown."""

    def __init__(
        self, name: str, follow: Follow, file: Path | None = None, grammar: str | None = None
    ) -> None:
        from tflogscope.grammar.load import load_grammar
        from tflogscope.live.asked import Asked
        from tflogscope.live.figures import Figures
        from tflogscope.live.growing import Growing
        from tflogscope.views.watch import Shown, Watched

        known = load_grammar(grammar)
        self._growing = Growing(known)
        self._figures = Figures(self._growing, known)
        self._asked = Asked(self._growing)
        self.watched = Watched(name, self._figures, self._asked, times=0)
        self.shown = Shown()
        self._follow = follow
        self._file = file
        self._came = self._dated = time.monotonic()
        self._sizes: deque[tuple[float, int]] = deque([(self._came, 0)])
        self._wanted: str | None = None  # an op that is to be explained

    def show(self, keys: Keys, *, until_end: bool = False) -> None:
        """Show the log until a key ends it; `until_end`: or the log does."""
        from rich.live import Live

        console = _console()
        with Live(
            console=console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as live:
            while not (until_end and self.is_at_end):
                tick = time.monotonic() + _TICK
                self.take(tick)
                self._look(console)
                self._draw(live, console)
                while True:
                    left = 0 if self._follow.is_behind else tick - time.monotonic()
                    for key in keys.wait(max(left, 0)):
                        if self._press(key):
                            return
                        self._draw(live, console)
                    if left <= 0:
                        break

    @property
    def is_at_end(self) -> bool:
        """Whether nothing more will come."""
        return self._follow.ended

    def take(self, until: float) -> None:
        """Scan what has come."""
        for part in self._follow.parts(until):
            if part.text:
                self._growing.add(part.text)
                self._came = time.monotonic()
            else:
                self.watched.times += 1
                self._growing.begin(self._name(), part.account)

    def run(self) -> LogRun:
        """The run at the end; nothing is scanned after that."""
        self._growing.settle()
        return self._growing.run()

    def _name(self) -> str:
        name, times = self.watched.name, self.watched.times
        return name if times == 1 else f"{name} ({times})"

    def _look(self, console: Console) -> None:
        """Bring what is shown up to date."""
        now, watched = time.monotonic(), self.watched
        quiet = now - self._came
        if quiet > _SETTLE_SECONDS:
            self._growing.settle()
            quiet = max(quiet, self._unwritten())
        self._sizes.append((now, self._growing.bytes))
        while len(self._sizes) > 2 and now - self._sizes[0][0] > _RATE_SECONDS:
            self._sizes.popleft()
        if not self.shown.paused:
            (since, before), (_, after) = self._sizes[0], self._sizes[-1]
            watched.rate = (after - before) / max(now - since, _TICK)
            watched.bytes, watched.lines = self._growing.bytes, self._growing.lines
            watched.quiet, watched.ended = quiet, self._follow.ended
            last = self._figures.last
            self._figures.advance()
            self._dated = now if self._figures.last != last else self._dated
            watched.undated = now - self._dated
        self._asked.look(find=not self.shown.paused and bool(self._figures.ops()))
        if self._wanted is not None:
            self._explain(console)

    def _unwritten(self) -> float:
        """Seconds since the file was written, which may be long before it was watched."""
        try:
            return time.time() - self._file.stat().st_mtime if self._file else 0.0
        except OSError:  # the next one is not there yet
            return 0.0

    def _draw(self, live: Live, console: Console) -> None:
        from rich.console import Group

        from tflogscope.views.watch import watch_lines

        width, height = console.size
        live.update(Group(*watch_lines(self.watched, self.shown, width, height)), refresh=True)

    def _press(self, key: str) -> bool:
        """Do what a key asks for; whether it ends the watch. Raises KeyboardInterrupt."""
        if key == INTERRUPT:
            raise KeyboardInterrupt
        shown = self.shown
        shown.said = ""
        if shown.typing:
            self._type(key)
        elif key in {"q", "Q"}:
            return True
        elif shown.explained is not None:
            shown.first += _STEPS.get(key, 0)
            if key in {"escape", "enter"}:
                shown.explained = None
        else:
            self._choose(key)
        return False

    def _choose(self, key: str) -> None:
        from tflogscope.views.watch import SORTS

        shown = self.shown
        if key == "p":
            shown.paused = not shown.paused
        elif key == "s":
            names = list(SORTS)
            shown.sort = names[(names.index(shown.sort) + 1) % len(names)]
        elif key == "/":
            shown.typing = True
        elif key == "escape":
            shown.filter = ""
        elif key in _STEPS and shown.ops:
            place = max(0, min(shown.place + _STEPS[key], len(shown.ops) - 1))
            shown.chosen = shown.ops[place]
        elif key in {"enter", "e"} and shown.ops:
            self._wanted = shown.ops[shown.place]
            shown.said = f"explaining {self._wanted}…"

    def _type(self, key: str) -> None:
        shown = self.shown
        if key in {"enter", "escape"}:
            shown.typing = False
        if key == "escape":
            shown.filter = ""
        elif key == "backspace":
            shown.filter = shown.filter[:-1]
        elif len(key) == 1 and key.isprintable():
            shown.filter += key

    def _explain(self, console: Console) -> None:
        """Ask for the op that is wanted, when the model has nothing else to do."""
        if self._asked.is_busy:
            return
        op, self._wanted = self._wanted, None
        self._asked.ask(lambda run: run.explain(op=op), lambda facts: self._show(facts, console))

    def _show(self, facts: object, console: Console) -> None:
        from tflogscope.views.watch import explanation

        self.shown.said = ""
        if isinstance(facts, TflogscopeError):
            self.shown.said = facts.what
        elif isinstance(facts, dict):
            colour = console.color_system is not None
            self.shown.explained = explanation(facts, console.width, colour=colour)
            self.shown.first = 0


class Screen:
    """The watch of a recording; in a thread, for the recording has the signals."""

    def __init__(self, name: str) -> None:
        """Raises UsageError if there is no terminal."""
        from tflogscope.live.follow import Follow, once

        require_terminal("record --watch")
        self.is_shown = True
        self._data: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._watching = Watching(name, Follow(once(self._data.get)))
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="tflogscope-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._data.put(b"")
        self._thread.join()

    def feed(self, data: bytes) -> None:
        """More of the log."""
        if data and self._error is None:
            self._data.put(data)

    def print_run(self) -> None:
        """Print what `analyze` prints. Raises what went wrong while it was shown."""
        if self._error is not None:
            raise self._error
        print_run(self._watching.run())

    def _work(self) -> None:
        watching = self._watching
        try:
            with keyboard(interrupts=True) as keys:  # of the program
                watching.show(keys, until_end=True)
            self.is_shown = False
            if not watching.is_at_end:
                typer.echo("tflogscope: the recording goes on", err=True)
            while not watching.is_at_end:
                watching.take(time.monotonic() + _TICK)
                time.sleep(_TICK / 5)
        except BaseException as error:  # noqa: BLE001  (raised again by `print_run`)
            self._error = error
        self.is_shown = False


def _console() -> Console:
    """The terminal, which can move its cursor also where it shows no colours."""
    from rich.console import Console

    from tflogscope.views.text import wants_colour

    return Console(
        markup=False,
        emoji=False,
        highlight=False,
        force_terminal=True,
        color_system="auto" if wants_colour(sys.stdout) else None,
    )
