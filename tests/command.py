"""`tflogscope ARGUMENTS` in this process, which has imported what a new one would have to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from tflogscope.cli.main import main

Ended = subprocess.CompletedProcess[bytes]


@contextmanager
def _standard_stream(number: int, name: str, file: IO[bytes]) -> Iterator[None]:
    """Let a file be a standard stream of this process and of those that it starts."""
    kept, before = os.dup(number), getattr(sys, name)
    os.dup2(file.fileno(), number)
    mode = "r" if name == "stdin" else "w"
    with open(number, mode, encoding="utf-8", closefd=False) as stream:
        setattr(sys, name, stream)
        try:
            yield
        finally:
            setattr(sys, name, before)
    os.dup2(kept, number)
    os.close(kept)


@contextmanager
def _as_before() -> Iterator[None]:
    """Put back what `simulate` changes for its program."""
    argv, path, program = sys.argv, [*sys.path], sys.modules["__main__"]
    with np.printoptions():
        yield
    sys.argv, sys.path[:], sys.modules["__main__"] = argv, path, program


def run_command(*arguments: str | Path, stdin: bytes = b"") -> Ended:
    """Run a command as in a process of its own: exit code, output, errors."""
    words = [str(each) for each in arguments]
    with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
        given.write(stdin)
        given.seek(0)
        with (
            _as_before(),
            _standard_stream(0, "stdin", given),
            _standard_stream(1, "stdout", output),
            _standard_stream(2, "stderr", errors),
        ):
            code = main(words)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(words, code, output.read(), errors.read())
