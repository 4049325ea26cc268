"""The claim of pyproject.toml, "OS Independent", as far as one system can show it.

Where there is no Windows, its lack of POSIX modules and its pipes are imitated.
"""

from __future__ import annotations

import io
import os
import select
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.makelog import MATMUL, Log
from tests.samples import path_of
from tflogscope import open_log
from tflogscope.recording import recorder
from tflogscope.recording.log_file import LogFile

SAMPLE = path_of("function_mlp__tf2.13.1__vlog2")
# Not `tty` and `pty`: Windows has both, and both fail there because `termios` is missing.
WITHOUT_POSIX = """
import sys
for name in ("curses", "fcntl", "grp", "pwd", "readline", "resource", "syslog", "termios"):
    sys.modules[name] = None
"""
IMPORT_ALL = """
import importlib, pkgutil, tflogscope
for module in pkgutil.walk_packages(tflogscope.__path__, "tflogscope."):
    if module.name.rpartition(".")[2] not in {"__main__", "_scanner"}:  # a library of its own
        importlib.import_module(module.name)
"""
ANALYZE = f"""
from tflogscope.cli.main import main
sys.exit(main(["analyze", "--full", {str(SAMPLE)!r}]))
"""


def python(program: str, **environment: str) -> str:
    """What a program prints in a process of its own, which must succeed without warnings."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode(environment.get("PYTHONIOENCODING", "utf-8"))


@pytest.mark.thorough
def test_no_module_needs_posix_when_it_is_imported() -> None:
    python(WITHOUT_POSIX + IMPORT_ALL)


@pytest.mark.thorough
def test_a_log_is_analyzed_without_posix_and_with_an_old_code_page() -> None:
    shown = python(
        WITHOUT_POSIX + ANALYZE, PYTHONIOENCODING="cp1252", PYTHONWARNDEFAULTENCODING="1"
    )
    assert "Eager and graph" in shown
    assert " · VLOG level 2 · " in shown


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorder as on Windows: no terminals, and pipes that are polled, not waited for."""
    if sys.platform == "win32":
        return

    def peek(pipe: int, _size: int) -> tuple[int, int]:
        import fcntl
        import termios

        ready = bool(select.select([pipe], [], [], 0)[0])
        waiting = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
        if ready and not waiting:
            raise BrokenPipeError
        return waiting, 0

    monkeypatch.setitem(sys.modules, "_winapi", SimpleNamespace(PeekNamedPipe=peek))
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(get_osfhandle=int))
    system = SimpleNamespace(platform="win32", stdout=io.StringIO(), stderr=io.StringIO())
    monkeypatch.setattr(recorder, "sys", system)
    monkeypatch.setattr(recorder, "select", None)


@pytest.mark.usefixtures("windows")
def test_a_program_is_recorded_through_a_pipe(tmp_path: Path) -> None:
    log = Log()
    log.start(MATMUL, 5)
    text = log.text()
    write = f"import sys, time; sys.stdout.write({text!r}); sys.stdout.flush()"
    program = f"{write}; time.sleep(0.2); sys.exit(3)"
    path = tmp_path / "run.log.zst"
    recorded = recorder.record(
        [sys.executable, "-c", program],
        os.environ,
        LogFile(path, force=False),
        b"# header\n",
        terminal=True,
    )
    assert (recorded.status, recorded.lost, recorded.goes_on) == (3, None, False)
    assert recorded.lines == text.count("\n") + 2  # with the header and the footer
    assert open_log(path).timeline["op"].to_list() == ["MatMul"]
