"""`tflogscope watch` in a real terminal: keys are typed into tmux, and its screen is read."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser import missing
from tests.samples import path_of, raw_log
from tests.waiting import PATIENCE_S
from tflogscope.cli.main import main

NAME = "function_mlp__tf2.13.1__vlog2"  # a small one: the model of a large one rests for long
TFLOGSCOPE = f"{shlex.quote(sys.executable)} -m tflogscope"


class Terminal:
    """A shell in a terminal of its own."""

    def __init__(self, folder: Path, width: int, height: int) -> None:
        self._socket = str(folder / "tmux")
        shell = ["-x", str(width), "-y", str(height), "env", "PS1=$ ", "sh"]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "tests", "-c", str(folder), *shell)

    def type(self, *keys: str) -> None:
        """Press keys; names such as Enter are keys, too."""
        for key in keys:
            self._tmux("send-keys", "-t", "tests", key)

    def run(self, command: str) -> None:
        """Type a command and press enter."""
        self._tmux("send-keys", "-t", "tests", "-l", command)
        self.type("Enter")

    def screen(self, *options: str) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p", "-t", "tests", *options)

    def wait_for(self, text: str, *, absent: str = "\0") -> str:
        """The screen when this text is on it and the other one is not."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            screen = self.screen()
            if text in screen and absent not in screen:
                return screen
            time.sleep(0.1)
        pytest.fail(f"{text!r} is not on the screen:\n{self.screen()}")

    def shows_cursor(self) -> bool:
        """Whether the cursor is there."""
        return self._tmux("display-message", "-p", "-t", "tests", "#{cursor_flag}") == "1\n"

    def close(self) -> None:
        """End all that runs in it."""
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        for name in ("TMUX", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
            environment.pop(name, None)
        command = ["tmux", "-u", "-S", self._socket, *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        ).stdout


Start = Callable[..., Terminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start(width, height)` opens a terminal in `tmp_path`."""
    if shutil.which("tmux") is None:
        missing("tmux is not installed")
    terminals = []

    def start_(width: int = 100, height: int = 40) -> Terminal:
        terminals.append(Terminal(tmp_path, width, height))
        return terminals[-1]

    yield start_
    for terminal in terminals:
        terminal.close()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


SEEN = "Where the time went"  # on the first screen of the analysis


@pytest.mark.thorough
def test_a_log_that_grows_with_all_keys(start: Start, tmp_path: Path) -> None:
    raw, log = raw_log(NAME), tmp_path / "run.log"
    middle = raw.index(b"Exiting eager executing local operation '__inference_train_")
    log.write_bytes(raw[:middle])
    terminal = start()
    terminal.run(f"{TFLOGSCOPE} watch run.log; echo it ended with $?")
    terminal.wait_for(SEEN)
    append(log, raw[middle:-10])
    lines = raw.count(b"\n")
    terminal.wait_for(f"{lines - 1:,} lines")  # the last line has no end
    append(log, raw[-10:])
    terminal.wait_for(f"{lines:,} lines")
    terminal.wait_for("no new line for ", absent="analysis of the first")
    terminal.type("NPage", "NPage", "NPage", "NPage", "NPage", "NPage", "NPage", "NPage")
    terminal.wait_for("What was recorded", absent=SEEN)
    terminal.type("PPage", "PPage", "PPage", "PPage", "PPage", "PPage", "PPage", "PPage")
    terminal.wait_for(SEEN)
    terminal.type("q")
    terminal.wait_for("it ended with 0")
    printed = terminal.screen("-S", "-")
    assert "Full analysis: tflogscope analyze --full LOG" in printed
    assert "q: quit" not in printed


@pytest.mark.thorough
def test_what_is_printed_at_the_end_is_what_analyze_prints(
    start: Start,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "run.log").write_bytes(raw_log(NAME) + b"half a line")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["analyze", "run.log"]) == 0
    terminal = start(120, 30)
    terminal.run(f"clear; {TFLOGSCOPE} watch run.log; echo it ended with $?")
    terminal.wait_for(SEEN)
    terminal.type("q")
    terminal.wait_for("it ended with 0")
    printed = terminal.screen("-S", "-")
    out = capsys.readouterr().out
    assert printed[printed.index(out.splitlines()[0]) :].split("it ended")[0] == out


@pytest.mark.thorough
def test_files_that_are_replaced_or_cut_short(start: Start, tmp_path: Path) -> None:
    raw, log = raw_log(NAME), tmp_path / "run.log"
    parts = [part + b"\n" for part in raw[:900_000].split(b"\n")][:2_500]
    log.write_bytes(b"".join(parts[:1_000]))
    terminal = start()
    terminal.run(f"{TFLOGSCOPE} watch run.log")
    terminal.wait_for("1,000 lines")
    log.rename(tmp_path / "run.log.1")
    log.write_bytes(b"".join(parts[1_000:2_000]))
    terminal.wait_for("2,000 lines")
    assert "started 2 times" in terminal.screen()
    os.truncate(log, 0)
    append(log, b"".join(parts[2_000:]))  # so it is shorter whenever it is looked at
    terminal.wait_for("started 3 times")
    terminal.wait_for("2,500 lines")


@pytest.mark.thorough
def test_a_pipe(start: Start, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(raw_log(NAME))
    terminal = start()
    terminal.run(f"(cat run.log; sleep 1) | {TFLOGSCOPE} watch; echo it ended with $?")
    terminal.wait_for(SEEN)
    assert "standard input · " in terminal.wait_for("log ended")
    terminal.type("q")  # the terminal's, though standard input is the pipe
    terminal.wait_for("it ended with 0")
    terminal.run(f"clear; (cat run.log; sleep 100) | {TFLOGSCOPE} watch -; echo and with $?")
    terminal.wait_for("no new line for ")
    terminal.type("q")  # nobody waits for the pipe's end, but the shell
    terminal.wait_for("Full analysis: tflogscope analyze")


def test_an_interrupt_ends_it_and_leaves_the_terminal_as_it_was(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "run.log").write_bytes(raw_log(NAME))
    terminal = start()
    terminal.run(f"{TFLOGSCOPE} watch run.log; echo it ended with $?")
    terminal.wait_for(SEEN)
    terminal.type("C-c")
    screen = terminal.wait_for("it ended with 130")
    assert "interrupted" in screen
    assert SEEN not in screen
    terminal.run("echo typed text is $((1 + 1)) shown")
    terminal.wait_for("$ echo typed text")


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_it_and_leaves_the_terminal_as_it_was(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "run.log").write_bytes(raw_log(NAME))
    terminal = start()
    command = f"ulimit -c 0; echo $$ > pid; exec {TFLOGSCOPE} watch run.log"
    terminal.run(f"sh -c '{command}'; echo it ended with $?")
    terminal.wait_for(SEEN)
    os.kill(int((tmp_path / "pid").read_text()), number)
    screen = terminal.wait_for(f"it ended with {128 + number}")
    assert SEEN not in screen
    assert terminal.shows_cursor()
    terminal.run("echo typed text is $((1 + 1)) shown")
    terminal.wait_for("$ echo typed text")


@pytest.mark.thorough
def test_a_fifo_in_the_place_of_the_log_can_be_left(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(raw_log(NAME))
    terminal = start()
    terminal.run(f"{TFLOGSCOPE} watch run.log; echo it ended with $?")
    terminal.wait_for(SEEN)
    log.unlink()
    os.mkfifo(log)
    terminal.wait_for("started 2 times")
    terminal.type("q")
    terminal.wait_for("it ended with 0")


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "colour"), [(60, "NO_COLOR=1"), (160, "FORCE_COLOR=1")])
def test_narrow_and_wide_with_and_without_colour(
    start: Start, tmp_path: Path, width: int, colour: str
) -> None:
    (tmp_path / "run.log").write_bytes(raw_log(NAME))
    terminal = start(width, 24)
    terminal.run(f"{colour} {TFLOGSCOPE} watch run.log")
    screen = terminal.wait_for(SEEN)
    assert len(screen.split("\n")) == 25
    assert "q: quit" in screen.split("\n")[23]
    coloured = "\x1b[3" in terminal.screen("-e")
    assert coloured == (colour == "FORCE_COLOR=1")


def test_without_a_terminal_nothing_is_watched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(path_of(NAME))]) == 2
    assert "needs a terminal" in capsys.readouterr().err
