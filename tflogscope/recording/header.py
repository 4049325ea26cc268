"""The first line of a recorded log: what was run, where, with which settings; the last: its end."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from tflogscope.errors import UsageError
from tflogscope.grammar.rewriters import REWRITERS
from tflogscope.model.origin import RANKS, TENSORFLOW_PACKAGES, place_of, signal_name
from tflogscope.recording.settings import HOOK

MARK = "# tflogscope record "
_PACKAGES = (*TENSORFLOW_PACKAGES, "keras", "numpy", *(each.package for each in REWRITERS))
_ASK = (
    "import importlib.metadata as m, json, sys\n"
    "found = {'python': sys.version.split()[0]}\n"
    f"for name in {_PACKAGES!r}:\n"
    "    try: found[name] = m.version(name)\n"
    "    except m.PackageNotFoundError: pass\n"
    "print(json.dumps(found))"
)
# What else changes how TensorFlow runs on a CPU. Other variables may hold secrets, also those of
# Terraform, whose names begin with TF_ too.
_PREFIXES = (
    "TF_", "ONEDNN_", "DNNL_", "OMP_", "KMP_", "XLA_", "CUDA_VISIBLE_DEVICES", "KERAS_", "ZENDNN",
    "ITEX_",
)  # fmt: skip
_NOT = re.compile(r"TF_(?:VAR|TOKEN|CLI|HTTP)_|TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_KEY")


def versions(command: Sequence[str]) -> dict[str, str]:
    """Versions of Python and its packages; empty where the command is not a Python interpreter."""
    if not Path(command[0]).name.startswith("python"):
        return {}
    ask = [command[0], "-c", _ASK]
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
        done = subprocess.run(ask, capture_output=True, timeout=20, check=True)
        found: dict[str, str] = json.loads(done.stdout)
        return found
    return {}


def header_line(
    command: Sequence[str],
    found: Mapping[str, str],
    environment: Mapping[str, str],
    calibrated: Mapping[str, float] | None = None,
) -> bytes:
    """One line of JSON behind `MARK`, ended by a line feed.

    Keys: `versions` (as found), `command`, `environment` (only variables of TensorFlow,
    oneDNN, OpenMP, XLA, Keras, plug-ins and ranks, no secrets), `started` (ISO 8601, with the
    zone), `zone_seconds` (east of UTC), `machine`, `system`, `processor`, `cpus`, `cpu_flags`
    (those that oneDNN asks for), `calibrated` (of `calibrated`; only if there is any).
    """
    now = time.time()
    zone = time.localtime(now).tm_gmtoff
    facts = {
        "versions": dict(found),
        "command": list(command),
        "environment": {
            name: value
            for name, value in sorted(environment.items())
            if (name.startswith(_PREFIXES) or name in RANKS) and not _NOT.search(name)
        },
        "started": _moment(now),
        "zone_seconds": zone,
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        **_processor(),
        **({"calibrated": dict(calibrated)} if calibrated else {}),
    }
    text = json.dumps(facts, ensure_ascii=True, separators=(",", ":"))
    # A command may quote a log. Without spaces and markers nothing in it looks like a record.
    text = text.replace(" ", "\\u0020").replace("_verbose,", "\\u005fverbose,")
    return f"{MARK}{text}\n".encode("ascii")


def _moment(seconds: float) -> str:
    """A time since 1970 as ISO 8601, with milliseconds and the zone."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="milliseconds")


def footer_line(returncode: int) -> bytes:
    """One line of JSON behind `MARK`, ended by a line feed: how the command ended.

    Keys: `status` (as a shell has it: 128 and the number of the signal that ended it), `signal`
    (`SIGKILL`; only if one did), `ended` (as `started` of `header_line`).
    """
    facts: dict[str, object] = {"status": returncode}
    if returncode < 0:
        facts = {"status": 128 - returncode, "signal": signal_name(-returncode)}
    facts["ended"] = _moment(time.time())
    return f"{MARK}{json.dumps(facts, separators=(',', ':'))}\n".encode("ascii")


def _processor() -> dict[str, object]:
    """Model and the instruction sets that decide oneDNN's kernels, where Linux shows them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {"processor": platform.processor() or platform.machine()}
    fields = {
        name.strip(): value.strip()
        for name, _, value in (line.partition(":") for line in text.splitlines())
    }
    flags = [
        flag
        for flag in fields.get("flags", fields.get("Features", "")).split()
        if flag.startswith(("avx", "amx", "fma", "sve", "bf16", "asimd"))
    ]
    return {
        "processor": fields.get("model name", platform.machine()),
        "cpu_flags": flags,
    }


# ---- how long calls take without a log: `record --calibrate` -------------------------------------

# Whatever makes TensorFlow or oneDNN write records.
_LOGS = ("TF_CPP_MAX_VLOG_LEVEL", "TF_CPP_VMODULE", "ONEDNN_VERBOSE", "DNNL_VERBOSE")


def calibrated(command: Sequence[str], given: Mapping[str, str]) -> dict[str, float]:
    """The median of the later calls of each function, in µs, by its name without its number.

    `given` is the program's environment. It runs to its end; what it prints is thrown away.
    Empty: no function was called twice.
    """
    environment = {name: value for name, value in given.items() if name not in _LOGS}
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


# ---- a file for each of several that a launcher starts at once -----------------------------------

_FIELD = re.compile(r"\{([a-z]+)\}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def log_path(output: Path, environment: Mapping[str, str]) -> Path:
    """The path with `{rank}`, `{host}` and `{pid}` filled in.

    `{pid}` is the process of the recorder, which waits for that of the program. Other braces stay
    as they are.

    Raises UsageError if the rank is asked for, and no variable says it.
    """
    rank = place_of(environment)[1]
    if "{rank}" in str(output) and rank is None:
        hint = f"A launcher sets one of TF_CONFIG, {', '.join(RANKS)}; {{pid}} needs none."
        raise UsageError("no variable says which rank this is", str(output), hint)
    host = _UNSAFE.sub("_", platform.node()) or "localhost"
    known = {"rank": str(rank), "host": host, "pid": str(os.getpid())}
    return Path(_FIELD.sub(lambda field: known.get(field[1], field[0]), str(output)))
