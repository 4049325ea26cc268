"""What may go wrong around a command, and what must hold then: the tables are the test.

Whatever happens: the exit code is one of those expected, nothing but a few lines that begin with
`tflogscope:` is on standard error, and the output file is the new one, whole, or the old one.

All commands meet all faults with TFLOGSCOPE_DEEP=1; else each meets some of them.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from tests.deep import DEEP
from tests.samples import raw_log
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parent.parent
OLD = b"what was there before"
ENDS = "sh -c 'echo trained; exit 7'"

# ---- the tables ---------------------------------------------------------------------------------

# A command prints to standard output, writes OUT, does both, or runs a program.
COMMANDS = {
    "analyze": ("prints", "analyze LOG"),
    "explain": ("prints", "explain LOG"),
    "timeline": ("prints", "timeline LOG"),
    "diff": ("prints", "diff LOG LOG"),
    "query": ("prints", "query LOG 'SELECT op FROM ops'"),
    "ops": ("writes", "ops LOG -o OUT --format csv --force"),
    "export": ("writes", "export LOG --table timeline -o OUT --format parquet --force"),
    "trace": ("writes", "trace LOG -o OUT --format chrome --force"),
    "report": ("writes", "report LOG -o OUT --force"),
    "check": ("both", "check LOG -o OUT --format junit --force"),
    "record": ("runs", f"record -o OUT --force -- {ENDS}"),
}

# How a command is run ("$@"), and with which code it ends then, by what it does. A command that
# fails a check ends with 1, the recorded program with 7.
FINE = {"prints": {0}, "writes": {0}, "both": {1}, "runs": {7}}
ENVIRONMENT = {
    "standard output is full": ('"$@" > /dev/full', FINE | {"prints": {2}, "both": {2}}),
    "standard output is closed": ('"$@" >&-', FINE | {"prints": {2}, "both": {2}}),
    "standard error is closed": ('"$@" 2>&-', FINE),
    "standard error has no reader": ('"$@" 2> >(:)', FINE),
    "standard input is closed": ('"$@" <&-', FINE),
    "all are closed": ('"$@" <&- >&- 2>&-', FINE | {"prints": {2}, "both": {2}}),
    "the reader went away": ('"$@" | :', FINE | {"prints": {141}, "both": {141}}),
    "the disk is full": (
        'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 0; "$@"',
        FINE | {"writes": {2}, "both": {2}},
    ),
    "few descriptors": ('ulimit -n 14; "$@"', {kind: {*FINE[kind], 2, 3, 4} for kind in FINE}),
    "no HOME": ('unset HOME; "$@"', FINE),
    "no TMPDIR": ('TMPDIR=/no/such "$@"', FINE),
    "no environment": ('env -i "$@"', FINE),
    "C locale": ('LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 "$@"', FINE),
}

# What happens to LOG, and the code that commands which read it end with. Only those that read a
# pipe twice need room to keep it; the others need some for what they write.
NO_ROOM = "is a pipe with no room to keep it"
READING_TWICE = {"explain", "report"}
LOGS = {
    "is missing": ("rm LOG", {3}),
    "is empty": (": > LOG", {3}),
    "is no log": ("echo hello > LOG", {3}),
    "is an empty directory": ("rm LOG; mkdir LOG", {3}),
    "is a loop of links": ("rm LOG; ln -s LOG LOG", {3}),
    "has no directory": ("mv LOG x; ln -s x/LOG LOG", {3}),
    "is cut": ("head -n 1400 LOG | head -c -40 > x; mv x LOG", {0, 1}),
    "is a damaged archive": ("gzip LOG; head -c 9000 LOG.gz > LOG", {0, 1}),
    "is a pipe": ("mv LOG x; mkfifo LOG; (cat x > LOG) & sleep 0", {0, 1}),
    NO_ROOM: (
        "export PYTHONDONTWRITEBYTECODE=1; mv LOG x; mkfifo LOG; cat x x x x x > LOG & ulimit -f 1",
        {3},
    ),
}

# What happens to LOG all the time while a command reads it.
MEANWHILE = {
    "grows": "head -c 3000 COPY >> LOG",
    "is truncated": "head -c 2000 COPY > LOG; cat COPY > LOG",
    "is replaced": "cp COPY x; mv x LOG",
    "comes and goes": "mv LOG x; mv x LOG",
}

SIGNALS = {
    signal.SIGINT: 130,
    signal.SIGTERM: -signal.SIGTERM,
    signal.SIGHUP: -signal.SIGHUP,
    signal.SIGKILL: -signal.SIGKILL,
}


def pairs(rows: list[str], commands: list[str]) -> list[tuple[str, str]]:
    """Each row with each command; to be quick, some of that, with each row and each command."""
    step = 1 if DEEP else min(len(commands), len(rows))
    return [
        (row, command)
        for place, row in enumerate(rows)
        for number, command in enumerate(commands)
        if (place + number) % step == 0
    ]


# ---- running ------------------------------------------------------------------------------------


@cache
def small_log() -> bytes:
    return b"".join(raw_log("function_mlp__tf2.13.1__vlog2").splitlines(keepends=True)[:1500])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("LOG", "COPY"):
        (tmp_path / name).write_bytes(small_log())
    (tmp_path / "OUT").write_bytes(OLD)
    return tmp_path


def run(folder: Path, command: str, how: str = '"$@"') -> subprocess.CompletedProcess[bytes]:
    """Run a command in its folder, in the way that a row says."""
    words = f"set -o pipefail; set -- {sys.executable} -m tflogscope {COMMANDS[command][1]}; {how}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    return subprocess.run(
        ["bash", "-c", words], cwd=folder, env=environment, capture_output=True, check=False
    )


def check(folder: Path, done: subprocess.CompletedProcess[bytes], codes: set[int]) -> None:
    """What must hold whatever happened."""
    errors = done.stderr.decode()
    assert done.returncode in codes, errors
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors
    assert "of tflogscope's own" not in errors
    assert errors == "" or errors.startswith(("tflogscope: ", "oneDNN's lines have no times"))
    assert errors.count("\n") <= 4
    left = {path.name for path in folder.iterdir()}
    assert left <= {"LOG", "LOG.gz", "COPY", "OUT", "x"}


def written(folder: Path) -> bytes:
    return (folder / "OUT").read_bytes()


@pytest.mark.parametrize(("fault", "command"), pairs(list(ENVIRONMENT), list(COMMANDS)))
def test_environment(folder: Path, fault: str, command: str) -> None:
    how, codes = ENVIRONMENT[fault]
    kind = COMMANDS[command][0]
    done = run(folder, command, how)
    check(folder, done, codes[kind])
    if kind in {"writes", "both"}:
        assert (written(folder) == OLD) == (done.returncode not in FINE[kind])


READING = [name for name, (kind, _) in COMMANDS.items() if kind != "runs"]


@pytest.mark.parametrize(("fault", "command"), pairs(list(LOGS), READING))
def test_log(folder: Path, fault: str, command: str) -> None:
    before, codes = LOGS[fault]
    if fault == NO_ROOM and command not in READING_TWICE:
        codes = {0} if COMMANDS[command][0] == "prints" else {0, 2}
    done = run(folder, command, f'{before}; "$@"')
    check(folder, done, codes)
    if done.returncode == 3:
        assert written(folder) == OLD


@pytest.mark.parametrize(("change", "command"), pairs(list(MEANWHILE), READING))
def test_log_meanwhile(folder: Path, change: str, command: str) -> None:
    changing = f"(while :; do {MEANWHILE[change]}; done) & trap 'kill $!' EXIT"
    done = run(folder, command, f'{changing}; "$@"')
    check(folder, done, {0, 1, 3})


@pytest.mark.parametrize(
    ("name", "command"), pairs([each.name for each in SIGNALS], list(COMMANDS))
)
def test_signals_at_any_moment(folder: Path, name: str, command: str) -> None:
    number, kind = signal.Signals[name], COMMANDS[command][0]
    moments = random.Random(f"{name} {command}")
    for _ in range(6 if DEEP else 1):
        (folder / "OUT").write_bytes(OLD)
        begun, begins = os.pipe()
        code = (
            "import os, sys; from tflogscope.__main__ import main; "
            f"os.close({begins}); sys.exit(main())"
        )
        words = COMMANDS[command][1].replace(ENDS, "sleep 0.3")
        process = subprocess.Popen(
            ["bash", "-c", f'exec {sys.executable} -c "$0" {words}', code],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[begins],
        )
        os.close(begins)
        os.read(begun, 1)  # ends when `main` begins
        os.close(begun)
        time.sleep(moments.uniform(0, 1.2))
        process.send_signal(number)
        out, errors = process.communicate(timeout=PATIENCE_S)
        done = subprocess.CompletedProcess([], process.returncode, out, errors)
        ends = {128 + number, -number} if kind == "runs" else {SIGNALS[number]}
        if number == signal.SIGKILL:
            for path in folder.glob(".tflogscope-*"):
                path.unlink()
        check(folder, done, {*FINE[kind], *ends} - {7} | ({0} if kind == "runs" else set()))
        if kind in {"writes", "both"} and (left := written(folder)) != OLD:
            # The signal came when all was written.
            run(folder, command)
            assert written(folder) == left
