"""Where a run comes from: its inputs by checksum, and what `tflogscope record` wrote above the
log.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tflogscope.digits import whole
from tflogscope.sources.source import Source

# As `recording/header.py` writes it; a test holds them together.
RECORD_MARK = b"# tflogscope record "
_WRITES_ENDS = (0, 3)  # the first release of tflogscope that writes a last line
_LONGEST_HEADER = 1 << 20  # bytes
_LONGEST_CALL = 1e12  # µs
# The packages that bring TensorFlow, the one to believe first.
TENSORFLOW_PACKAGES = ("tensorflow", "tensorflow-cpu", "intel-tensorflow", "tf-nightly")
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK")
"""Variables in which launchers tell a process its rank: Open MPI, MPICH and Intel MPI, PMIx, Slurm,
torchrun."""
KEPT_BACK = (
    "A program that sets TF_CPP_MIN_LOG_LEVEL suppresses TensorFlow's records: remove that "
    "setting, and record again."
)
"""Why a recording may hold no record of TensorFlow, and what to do."""


class Input(NamedTuple):
    """One input: its name as the user gave it, its bytes as they came, and their SHA-256."""

    name: str
    size: int | None
    sha256: str


def read_inputs(sources: Sequence[Source]) -> list[Input]:
    """Read the inputs once more, for their checksums.

    Raises InputError if one can't be read any more.
    """
    return [Input(source.name, source.size, source.checksum()) for source in sources]


def read_header(sources: Sequence[Source]) -> dict[str, Any] | None:
    """The fields of the line that `record` and `simulate` write first; None: there is no such line.

    Raises InputError if the first source can't be read any more.
    """
    return header_of(sources[0].head()) if sources else None


def header_of(text: bytes) -> dict[str, Any] | None:
    """The same of the first lines of a log."""
    if not text.startswith(RECORD_MARK):
        return None
    line = text[len(RECORD_MARK) : _LONGEST_HEADER].split(b"\n", 1)[0]
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return header if isinstance(header, dict) else None


def fields_of(header: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    """What a header of `read_header` has in one of its fields: `versions`, `environment`."""
    fields = (header or {}).get(name)
    return fields if isinstance(fields, dict) else {}


def command_of(header: Mapping[str, Any] | None) -> list[str]:
    """The words of the command that was recorded; none where the header doesn't say it."""
    command = (header or {}).get("command")
    return [*map(str, command)] if isinstance(command, list) else []


def footer_of(text: bytes) -> dict[str, Any]:
    """The fields of the line that `tflogscope record` writes last; none if there is no such line.

    `text` is the end of a log.
    """
    line = text[text.rfind(b"\n", 0, -1) + 1 :]
    footer = header_of(line) or {}
    return footer if isinstance(footer.get("status"), int) else {}


def has_end(header: Mapping[str, Any] | None, ends: Sequence[bytes]) -> bool:
    """Whether a recording goes to its end; also of what `record` did not write, or an older one.

    `ends` are the ends of its files.
    """
    release = fields_of(header, "versions").get("tflogscope")
    match = re.match(r"(\d{1,4})\.(\d{1,4})\.", str(release))
    if match is None or (int(match[1]), int(match[2])) < _WRITES_ENDS:
        return True
    return any(footer_of(end) for end in ends)


def signal_name(number: int) -> str:
    """`SIGKILL` of 9; `signal 35` where this system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def cpus_of(header: Mapping[str, Any] | None) -> int | None:
    """How many processors `record` says the program may use."""
    cpus = (header or {}).get("cpus")
    return cpus if isinstance(cpus, int) and cpus > 0 else None


def tensorflow_version(header: Mapping[str, Any] | None) -> str | None:
    """The version of TensorFlow that ran, by a header of `read_header`."""
    versions = fields_of(header, "versions")
    named = (versions.get(name) for name in TENSORFLOW_PACKAGES)
    return next((version for version in named if isinstance(version, str)), None)


def simulated_release(header: Mapping[str, Any] | None) -> str | None:
    """The release of TensorFlow whose log `tflogscope simulate` wrote; None: it did not."""
    release = (header or {}).get("simulated")
    return release if isinstance(release, str) and release else None


def read_moment(written: Mapping[str, Any] | None, name: str) -> int | None:
    """When the program `started` or `ended`, in µs since 1970 in its local time, as the log's are.

    `written` is the line of `read_header` or `footer_of`. None: it doesn't say it to the ms.
    """
    try:
        moment = datetime.strptime((written or {})[name], "%Y-%m-%dT%H:%M:%S.%f%z")
    except (KeyError, TypeError, ValueError):
        return None
    return round(moment.replace(tzinfo=UTC).timestamp() * 1e6)


def task_of(settings: object) -> tuple[str, int] | None:
    """Job and index of a process in its cluster, by its TF_CONFIG; None: that doesn't say them."""
    if not isinstance(settings, Mapping):
        return None
    try:
        task = json.loads(settings.get("TF_CONFIG") or "")["task"]
        return str(task["type"]), int(task["index"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def place_of(settings: object) -> tuple[str | None, int | None]:
    """Address and rank of a process by its environment, as far as that says them.

    TF_CONFIG goes first: the chief is 0, then come the workers; others have no rank.
    """
    if not isinstance(settings, Mapping):
        return None, None
    ranks = (settings.get(name) for name in RANKS)
    numbers = (number for rank in ranks if (number := whole(str(rank))) is not None)
    try:
        facts = json.loads(settings.get("TF_CONFIG") or "")
        kind, index = facts["task"]["type"], whole(str(facts["task"]["index"]))
        cluster = facts["cluster"]
        host = cluster[kind][index]  # None: TypeError
        before = len(cluster.get("chief", ())) if kind == "worker" else 0
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None, next(numbers, None)
    return str(host), before + (index or 0) if kind in ("chief", "worker") else None


def calibrated_of(header: Mapping[str, Any] | None) -> dict[str, float]:
    """What later calls took in a run without a log, in µs, by function (`record --calibrate`)."""
    return {
        name: float(taken)
        for name, taken in fields_of(header, "calibrated").items()
        if isinstance(taken, int | float) and 0 < taken < _LONGEST_CALL
    }
