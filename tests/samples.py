"""Real logs, opened once while they are used: conftest.py runs the tests of a log in a row.

Those of sample_logs/ with their truth, and those that tests were recorded for.
"""

from __future__ import annotations

import io
import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import tflogscope
from tests.deep import DEEP
from tflogscope.api import LogRun as Run
from tflogscope.views.report.page import report_page

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).parent.parent
LOGS = ROOT / "sample_logs"
TRUTH = ROOT / "tests" / "truth"
_FOLDERS = (
    LOGS,
    ROOT / "tests" / "reasons",
    ROOT / "tests" / "sentences" / "logs",
    ROOT / "tests" / "causes" / "logs",
    ROOT / "tests" / "plugins",
    ROOT / "tests" / "costs",
    ROOT / "tests" / "lines",
    ROOT / "tests" / "ranks",
    ROOT / "tests" / "time",
    ROOT / "tests" / "far" / "logs",
)
_SUFFIX = ".log.zst"
KEPT = sorted(path.name.partition(".log.")[0] for each in _FOLDERS for path in each.glob("*.log.*"))
"""All logs that are kept here."""

MANIFEST: dict[str, dict[str, Any]] = {
    entry["file"].removesuffix(_SUFFIX): entry
    for entry in json.loads((LOGS / "MANIFEST.json").read_text())["logs"]
}
NAMES = sorted(MANIFEST)
UNLIKE = [
    "cnn_fit__tf2.13.1__vlog0__vmodule",  # no durations
    "control_flow__tf2.20.0__vlog2",  # loops
    "eager_basics__tf2.8.4__vlog2",  # an old release
    "error__tf2.13.1__vlog2",
    "function_mlp__tf2.13.1__vlog2",
    "keras_fit_mlp__tf2.13.1__vlog2",
    "py_function__tf2.21.0__vlog2",  # Python inside of functions
    "python_threads__tf2.21.0__vlog2",
    "tf1_session__tf2.13.1__vlog2",  # no functions
    "torch_mlp__torch2.13.0__vlog2",  # oneDNN alone
]
"""Sample logs of each kind: for tests of what is done with any tables, or any text."""
if DEEP:
    UNLIKE = NAMES

WITH_TRUTH = [name for name in NAMES if (TRUTH / f"{name}.truth.jsonl.zst").exists()]


def path_of(name: str) -> Path:
    """The one log of this name."""
    [path] = [path for folder in _FOLDERS for path in folder.glob(f"{name}.log.*")]
    return path


_ROOM = 500_000  # bytes of packed logs: a large one takes 50 MB with its tables, and a process 500
_runs: dict[str, tuple[Run, int]] = {}  # the one that was used last at the end


def run_of(name: str) -> Run:
    """The analyzer's run of a log; `A+B`: of two files together. The last few are kept."""
    if name not in _runs:
        paths = [path_of(part) for part in name.split("+")]
        size = sum(path.stat().st_size for path in paths)
        while _runs and sum(kept for _, kept in _runs.values()) + size > _ROOM:
            del _runs[next(iter(_runs))]
        _runs[name] = tflogscope.open_log(*paths), size
    _runs[name] = _runs.pop(name)
    return _runs[name][0]


@lru_cache(1)
def page_of(name: str) -> str:
    """The report of a log."""
    return report_page(run_of(name), "tests 1")


@lru_cache(2)
def raw_log(name: str) -> bytes:
    """A sample log as it was written, read without tflogscope."""
    return unpacked(path_of(name))


@lru_cache(1)
def truth_of(name: str) -> list[dict[str, Any]]:
    """What TensorFlow itself and the program said while the log was written, one dict per event."""
    lines = unpacked(TRUTH / f"{name}.truth.jsonl.zst").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def unpacked(path: Path) -> bytes:
    """What a file packed with zstd holds."""
    with zstd.open(io.BytesIO(path.read_bytes()), "rb") as stream:
        return bytes(stream.read())
