"""What many tests need: a way to open a log that is a string."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler.loadscope import LoadScopeScheduling  # type: ignore[import-untyped]

import tests.deep  # noqa: F401  for its profile
import tflogscope
from tests.makelog import Log
from tests.samples import NAMES
from tflogscope.api import LogRun as Run

Open = Callable[..., Run]

settings.load_profile("ours")  # of tests/deep.py

# Many tests start a process: only the first has to compile the package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A log's memory goes back to the system at once, not into gaps of the heap.
_M_MMAP_THRESHOLD = -3
if platform.libc_ver()[0] == "glibc":
    ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 17)

# What starts the tests may ignore these, as nohup and `&` do; children would inherit that.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


# ---- tests of one sample log run in a row, in one process, which opens it once; so do those of one
# ---- file, for what they share ------------------------------------------------------------------

_SAMPLE = re.compile(r"\w+__(?:tf|torch)\d+\.\d+\.\d+\w*")


def _sample_of(nodeid: str) -> str:
    """The log that a test's id names, if any."""
    found = _SAMPLE.search(nodeid)
    return found[0] if found else ""


# A quick run takes small ones: eager ops, functions, Python inside of them, an old release, another
# writer of oneDNN's lines. Tests of the other sample logs are thorough; so are all cases of a test
# (of a sentence, where it has some for each) but the first, where they are of other kept logs.
_QUICK = {
    "eager_basics__tf2.8.4__vlog2",
    "function_mlp__tf2.13.1__vlog2",
    "py_function__tf2.21.0__vlog2",
    "torch_mlp__torch2.13.0__vlog2",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _sample_of(item.nodeid))
    left_out, tried = set(NAMES) - _QUICK, set[str]()
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if left_out.intersection(value for value in parameters if isinstance(value, str)):
            item.add_marker("thorough")
        log = _sample_of(item.nodeid)
        if log and log not in NAMES:
            test = item.nodeid.partition(log)[0]
            if test in tried:
                item.add_marker("thorough")
            tried.add(test)


class _BySample(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return _sample_of(nodeid) or nodeid.split("::", maxsplit=1)[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return _BySample(config, log)
