"""pytest plugin: the fixture `record_tensorflow` runs TensorFlow code and returns its `Run`.

    def train():
        import tensorflow as tf
        ...

    def test_training_stays_in_the_graph(record_tensorflow):
        run = record_tensorflow(train)
        run.assert_graph_mode()

TensorFlow reads its log settings once, when it is loaded, so the code runs in a process of its
own, under `tflogscope record`. pytest imports this module on each start: it imports little.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import site
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pytest

from tflogscope.errors import UsageError

if TYPE_CHECKING:
    from tflogscope.model.run import Run

_PYTHON = "tflogscope_python"
_NO_TENSORFLOW = 3
_FIND = f"""
import importlib.util, sys
sys.path[:0] = sys.argv[1:]
sys.exit({_NO_TENSORFLOW} if importlib.util.find_spec("tensorflow") is None else 0)
"""
_CALL = """
import importlib.util, sys
file, module, function, *paths = sys.argv[1:]
sys.argv[:] = [file]
sys.path[:0] = paths
spec = importlib.util.spec_from_file_location(module, file)
sys.modules[module] = made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
getattr(made, function)()
"""
_SHOWN = 40  # lines of a program that failed
_PATIENCE_SECONDS = 5.0

Program = Callable[[], object] | str | os.PathLike[str]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say which settings pytest may find for us in pyproject.toml and the like."""
    parser.addini(
        _PYTHON,
        "the Python interpreter for record_tensorflow, if TensorFlow is not in that of pytest",
    )


@pytest.fixture(scope="session")
def record_tensorflow(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> RecordTensorFlow:
    """Run TensorFlow code with its log on, and return the run: `record_tensorflow(train)`."""
    python = pytestconfig.getini(_PYTHON) or sys.executable
    return RecordTensorFlow(python, tmp_path_factory, pytestconfig.stash[_LOGS])


_Logs = WeakKeyDictionary["Run", Path]
_LOGS = pytest.StashKey[_Logs]()  # what was recorded, and where it is kept


def pytest_configure(config: pytest.Config) -> None:
    """Make room for what will be recorded."""
    config.stash[_LOGS] = WeakKeyDictionary()


@dataclass(frozen=True)
class RecordTensorFlow:
    """Runs TensorFlow code in a process of its own, under `tflogscope record`."""

    python: str
    _directories: pytest.TempPathFactory = field(repr=False)
    _logs: _Logs = field(repr=False)

    def __call__(
        self,
        program: Program,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        timeout: float = 600,
    ) -> Run:
        """Run a program to its end and read its log. What it prints is shown if the test fails.

        Args:
            program: a function at the top level of a module, or the path of a Python file.
            arguments: the command line of a file.
            environment: variables to set besides those that record it.
            timeout: seconds that it may take.

        Returns:
            What `tflogscope.open_log` returns.

        Raises:
            UsageError: the program is neither, or the interpreter can't be started.
            NothingRecognised: TensorFlow wrote no log.
            pytest.skip.Exception: TensorFlow is not installed.
            pytest.fail.Exception: the program failed or took too long.
        """
        import tflogscope

        name, command = self._command(program, arguments)
        self._need_tensorflow()
        log = self._directories.mktemp(re.sub(r"\W", "_", name)) / "run.log.zst"
        recorder = [sys.executable, "-m", "tflogscope", "record", "-o", str(log), "--"]
        status, output, errors = _run_to_end(
            [*recorder, self.python, *command], {**os.environ, **(environment or {})}, timeout
        )
        sys.stdout.write(output)  # pytest keeps both for the report
        sys.stderr.write(errors)
        if status is None:
            pytest.fail(f"{name} timed out after {timeout:g} s", pytrace=False)
        if status:
            last = "\n".join((output + errors).splitlines()[-_SHOWN:])
            pytest.fail(f"{name} ended with status {status}\n{last}", pytrace=False)
        run = tflogscope.open_log(log)
        self._logs[run] = log
        return run

    def _command(self, program: Program, arguments: tuple[str, ...]) -> tuple[str, list[str]]:
        """Name a program, and say what the interpreter gets to run it.

        Raises:
            UsageError: it is neither a file nor a function that another process can find.
        """
        if not callable(program):
            path = os.fspath(program)
            if not Path(path).is_file():
                raise UsageError("no such file", path, "Pass a Python file or a function.")
            return Path(path).stem, [path, *arguments]
        name = getattr(program, "__qualname__", "")
        module = sys.modules.get(getattr(program, "__module__", ""))
        file = getattr(module, "__file__", None)
        if not name.isidentifier() or module is None or file is None:
            hint = "Pass a function at the top level of a module, or a file."
            raise UsageError("another process can't import this function", repr(program), hint)
        if arguments:
            hint = "Wrap it in a function without parameters, or pass a file."
            raise UsageError("functions are called without arguments", name, hint)
        return name, ["-c", _CALL, file, module.__name__, name, *_own_paths()]

    def _need_tensorflow(self) -> None:
        """Skip the test where there is no TensorFlow.

        Raises:
            UsageError: the interpreter can't be started.
        """
        command = [self.python, "-c", _FIND, *_own_paths()]
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except OSError as error:
            hint = f"Set {_PYTHON} to an interpreter that has TensorFlow."
            reason = f"can't be started: {error.strerror or error}"
            raise UsageError(reason, self.python, hint) from error
        if done.returncode == _NO_TENSORFLOW:
            pytest.skip(
                f"{self.python} has no TensorFlow, so nothing was recorded; "
                f"set {_PYTHON} to an interpreter that has it"
            )


def _own_paths() -> list[str]:
    """Where this Python looks for modules, but for its own library and packages.

    Another interpreter has its own of these.
    """
    named = sysconfig.get_paths()
    theirs = [named[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    theirs += site.getsitepackages()
    return [
        path
        for path in map(os.path.abspath, sys.path)
        if not path.endswith(".zip") and not any(Path(path).is_relative_to(it) for it in theirs)
    ]


def _run_to_end(
    command: list[str], environment: Mapping[str, str], timeout: float
) -> tuple[int | None, str, str]:
    """Return exit status and both streams; None: it took too long, and was ended."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C reaches pytest, which ends it
    )
    try:
        streams = process.communicate(timeout=timeout)
    except BaseException as error:
        streams = _end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            return None, *streams
        raise
    return process.returncode, *streams


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End a recording; return both streams. It hands the first signal on to the program."""
    for number in (signal.SIGTERM, signal.SIGTERM):
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_PATIENCE_SECONDS)
    process.kill()
    return process.communicate()


# ---- what a failed test shows --------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test what `tflogscope check` says of the runs it looked at."""
    report = yield
    if report.failed and call.excinfo is not None:
        logs = item.config.stash[_LOGS]
        for run in _runs_seen(call.excinfo, logs):
            report.sections.append((f"tflogscope check {logs[run]}", _verdict(run)))
    return report


def _runs_seen(error: pytest.ExceptionInfo[BaseException], logs: _Logs) -> list[Run]:
    """Runs among the variables of the functions that the error went through."""
    kinds = {type(run) for run in logs}
    seen = [
        value
        for entry in error.traceback
        for value in entry.frame.f_locals.values()
        if type(value) in kinds
    ]
    return [run for run in dict.fromkeys(seen) if run in logs]


def _verdict(run: Run) -> str:
    from tflogscope.checks.evaluation import check_run
    from tflogscope.views.check import verdict_document
    from tflogscope.views.terminal import drawn

    return drawn(verdict_document(check_run(run).facts()), to_file=True)
