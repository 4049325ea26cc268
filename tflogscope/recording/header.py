"""The first line of a recorded log: what was run, where, with which settings; the last: its end."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from tflogscope.errors import UsageError
from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.rewriters import REWRITERS
from tflogscope.model.common.origin import (
    RANKS,
    TENSORFLOW_PACKAGES,
    place_of,
    signal_name,
    task_of,
)
from tflogscope.recording.settings import HOOK

MARK = "# tflogscope record "
_PACKAGES = (*TENSORFLOW_PACKAGES, "keras", "numpy", *(rewriter.package for rewriter in REWRITERS))
_ASK = (
    "import importlib.metadata as m, json, sys\n"
    "found = {'python': sys.version.split()[0]}\n"
    f"for name in {_PACKAGES!r}:\n"
    "    try: found[name] = m.version(name)\n"
    "    except m.PackageNotFoundError: pass\n"
    "print(json.dumps(found))"
)
_NAMES = packaged_toml("record.toml")
_KNOWN = {f"TF_{name}" for name in _NAMES["tensorflow"].split()} | {*_NAMES["others"].split()}
_PREFIXES = tuple(_NAMES["prefixes"])
_SECRET = re.compile(
    r"pass(?!es|thr)|pwd|secret|token|cred|auth|bearer|cookie|signature|signing"
    r"|(?:^|[-_])(?:api|private|access|signing|encryption|ssh|license)?[-_]?key(?![a-z_-])",
    re.IGNORECASE,
)
_URL = re.compile(r"(?<=://)[^\s/@]+(?=@)")
_HIDDEN = "***"


def _without_secrets(command: Sequence[str]) -> list[str]:
    """The words of a command, with a mark for what is behind names of secrets, and in URLs."""
    words, hide = [], False
    for word in command:
        name, given, _ = word.partition("=")
        # A program may be a word (`python -c`): only what looks like an option has a value.
        is_option = word.startswith("-") or (given and re.fullmatch(r"[\w.-]+", name))
        is_secret = bool(is_option and _SECRET.search(name))
        if hide and not word.startswith("-"):
            words.append(_HIDDEN)
        elif is_secret and given:
            words.append(f"{name}={_HIDDEN}")
        else:
            words.append(_URL.sub(_HIDDEN, word))
        hide = is_secret and not given
    return words


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that are known to be harmless."""
    return {
        name: _URL.sub(_HIDDEN, value)
        for name, value in sorted(environment.items())
        if name in _KNOWN
        or name in RANKS
        or (name.startswith(_PREFIXES) and not _SECRET.search(name))
    }


def versions(command: Sequence[str]) -> dict[str, str]:
    """Versions of Python and its packages; empty where the command is not a Python interpreter."""
    if not Path(command[0]).name.startswith("python"):
        return {}
    ask = [command[0], "-c", _ASK]
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
        done = subprocess.run(ask, capture_output=True, timeout=20, check=True)
        releases: dict[str, str] = json.loads(done.stdout)
        return releases
    return {}


def header_line(
    command: Sequence[str],
    releases: Mapping[str, str],
    environment: Mapping[str, str],
    calibrated: Mapping[str, float] | None = None,
) -> bytes:
    """One line of JSON behind `MARK`, ended by a line feed.

    Keys: `versions` (as found), `command` (`***` for secrets), `environment` (only known variables
    of TensorFlow, oneDNN, OpenMP, XLA, Keras, plug-ins and ranks), `lines` (whether the program is
    asked for its own), `started` (ISO 8601, with the zone), `zone_seconds` (east of UTC),
    `machine`, `system`, `processor`, `cpus` (that the program may use), `cpu_flags` (those that
    oneDNN asks for), `sources` (CRC-32 of the program's file, by its name in the command),
    `calibrated` (of `calibrated`; only if there is any).
    """
    now = time.time()
    zone = time.localtime(now).tm_gmtoff
    facts = {
        "versions": dict(releases),
        "command": _without_secrets(command),
        "environment": _settings(environment),
        "lines": "TFLOGSCOPE_LINES" in environment,
        "started": _moment(now),
        "zone_seconds": zone,
        "system": platform.platform(),
        "cpus": _cpus(),
        **_processor(),
        "sources": _sources(command),
        **({"calibrated": dict(calibrated)} if calibrated else {}),
    }
    text = json.dumps(facts, ensure_ascii=True, separators=(",", ":"))
    # A command may quote a log. Without spaces and markers nothing in it looks like a record.
    text = text.replace(" ", "\\u0020").replace("_verbose,", "\\u005fverbose,")
    return f"{MARK}{text}\n".encode("ascii")


def _cpus() -> int | None:
    """As many as TensorFlow starts threads for (tsl/platform/default/port.cc, MaxParallelism)."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()


def _sources(command: Sequence[str]) -> dict[str, int]:
    """What is in the files of Python below the current folder that a command names."""
    sources: dict[str, int] = {}
    for word in command:
        name, path = os.path.normpath(word), Path(word)
        if path.suffix == ".py" and not path.is_absolute() and not name.startswith(".."):
            with contextlib.suppress(OSError, ValueError):
                sources[name] = zlib.crc32(path.read_bytes())
    return sources


def _moment(seconds: float) -> str:
    """A time since 1970 as ISO 8601, with milliseconds and the zone."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="milliseconds")


def footer_line(returncode: int, usage: Mapping[str, float] | None = None) -> bytes:
    """One line of JSON behind `MARK`, ended by a line feed: how the command ended.

    Keys: `status` (as a shell has it: 128 and the number of the signal that ended it), `signal`
    (`SIGKILL`; only if one did), `ended` (as `started` of `header_line`), and those of `usage`
    (`Usage.facts`).
    """
    facts: dict[str, object] = {"status": returncode}
    if returncode < 0:
        facts = {"status": 128 - returncode, "signal": signal_name(-returncode)}
    facts |= {"ended": _moment(time.time()), **(usage or {})}
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
    medians = sorted((json.loads(line) for line in lines), key=lambda row: row[1])
    return {name: round(taken, 1) for name, _, taken in medians}


# ---- a file for each of several that a launcher starts at once -----------------------------------

_FIELD = re.compile(r"\{([a-z]+)\}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def rank_of(environment: Mapping[str, str]) -> str | None:
    """The task of TF_CONFIG (`worker1`), or else the rank that a launcher says; None: no rank."""
    if task := task_of(environment):
        return _UNSAFE.sub("_", f"{task[0]}{task[1]}")
    rank = place_of(environment)[1]
    return None if rank is None else str(rank)


def log_path(output: Path, environment: Mapping[str, str]) -> Path:
    """The path with `{rank}`, `{host}` and `{pid}` filled in.

    `{pid}` is the process of the recorder, which waits for that of the program. Other braces stay
    as they are.

    Raises UsageError if the rank is asked for, and no variable says it.
    """
    rank = rank_of(environment)
    if "{rank}" in str(output) and rank is None:
        hint = f"Launchers set one of TF_CONFIG, {', '.join(RANKS)}; {{pid}} needs none."
        raise UsageError("no environment variable gives the rank", str(output), hint)
    host = _UNSAFE.sub("_", platform.node()) or "localhost"
    values = {"rank": rank or "", "host": host, "pid": str(os.getpid())}
    return Path(_FIELD.sub(lambda field: values.get(field[1], field[0]), str(output)))
