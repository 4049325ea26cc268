"""A run of the program without a log: how long the calls of its functions really take."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tflogscope.recording.settings import HOOK

# Whatever makes TensorFlow or oneDNN write records.
_LOGS = ("TF_CPP_MAX_VLOG_LEVEL", "TF_CPP_VMODULE", "ONEDNN_VERBOSE", "DNNL_VERBOSE")


def calibrated(command: Sequence[str]) -> dict[str, float]:
    """The median of the later calls of each function, in µs, by its name without its number.

    The program runs to its end; what it prints is thrown away. Empty: no function was called twice.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _LOGS}
    path = filter(None, [str(HOOK), environment.get("PYTHONPATH")])
    environment["PYTHONPATH"] = os.pathsep.join(path)
    with tempfile.TemporaryDirectory() as folder:
        clock = Path(folder) / "clock"
        environment["TFLOGSCOPE_CLOCK"] = str(clock)
        nothing = subprocess.DEVNULL
        with contextlib.suppress(OSError):  # the recording will say so
            subprocess.run(
                command, stdin=nothing, stdout=nothing, stderr=nothing, env=environment, check=False
            )
        lines = clock.read_text().splitlines() if clock.exists() else []
    # Of several processes the one that called it most often.
    rows = sorted((json.loads(line) for line in lines), key=lambda row: row[1])
    return {name: round(taken, 1) for name, _, taken in rows}
