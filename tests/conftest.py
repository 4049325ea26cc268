"""What many tests need: a way to open a log that stands in a string."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

import tflogscope
from tests.makelog import Log
from tflogscope import Run

Open = Callable[..., Run]

# Who starts the tests may ignore it, as nohup does, and children would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes says more of the machine than of the code.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """`opened(log, …)` writes each log to a file and opens them as parts of one run."""

    def open_(*logs: Log | str | bytes) -> Run:
        paths = []
        for number, log in enumerate(logs):
            text = log.text() if isinstance(log, Log) else log
            path = tmp_path / f"part{number}.log"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            paths.append(path)
        return tflogscope.open_log(*paths)

    return open_
