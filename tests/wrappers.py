"""Logs as launchers, containers, collectors and CI write them, made by their definitions.

Each wrapper takes a line without its line feed, its number, and the rank of its process, and gives
what is in the file for it: a line, or several where it cuts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Wrapper = Callable[[bytes, int, int], bytes]
_CUT = 16 << 10  # bytes: containerd's and Docker's


def _before(template: str) -> Wrapper:
    """Text before each line; `channel` is stdout for one line in seven."""

    def wrap(line: bytes, number: int, rank: int) -> bytes:
        channel = "stdout" if number % 7 == 3 else "stderr"
        text = template.format(n=number, rank=rank, second=number // 300 % 60, channel=channel)
        return text.encode() + line

    return wrap


def _object(make: Callable[[str, int], Any]) -> Wrapper:
    def wrap(line: bytes, number: int, rank: int) -> bytes:  # noqa: ARG001
        text = line.decode("utf-8", "backslashreplace")
        return json.dumps(make(text, rank), separators=(",", ":")).encode()

    return wrap


def _cri(line: bytes, number: int, rank: int) -> bytes:  # noqa: ARG001
    pieces = list(_pieces(line))
    # Go's RFC3339Nano leaves out zeros at the end.
    time = f"2026-11-21T03:56:54.{number * 7919 % 10**9 or 1:09d}".rstrip("0").encode()
    return b"\n".join(
        b"%sZ stderr %s %s" % (time, b"F" if at == len(pieces) - 1 else b"P", piece)
        for at, piece in enumerate(pieces)
    )


def _docker(line: bytes, number: int, rank: int) -> bytes:  # noqa: ARG001
    pieces = list(_pieces(line + b"\n"))
    made = [
        {"log": piece.decode("utf-8", "backslashreplace"), "stream": "stderr", "time": "2026"}
        for piece in pieces
    ]
    return "\n".join(json.dumps(each, separators=(",", ":")) for each in made).encode()


def _pieces(line: bytes) -> Iterator[bytes]:
    yield line[:_CUT]
    for start in range(_CUT, len(line), _CUT):
        yield line[start : start + _CUT]


WRAPPERS: dict[str, Wrapper] = {
    "mpirun --tag-output": _before("[1,{rank}]<{channel}>: "),
    "mpirun --tag-output of Open MPI 4": _before("[1,{rank}]<{channel}>:"),
    "mpiexec -prepend-rank": _before("[{rank}] "),
    "srun --label": _before("{rank}: "),
    "torchrun --tee": _before("[default{rank}]:"),
    "mpirun --tag-output --timestamp-output": _before(
        "Sat Nov 21 03:56:{second:02d} 2026[1,{rank}]<{channel}>:"
    ),
    "Ray": _before("\x1b[36m(train_fn pid=31{rank})\x1b[0m "),
    "docker compose": _before("worker-{rank}  | "),
    "Foreman": _before("03:56:{second:02d} worker.{rank}  | "),
    "kubectl logs --prefix": _before("[pod/worker-{rank}/tensorflow] "),
    "CRI": _cri,
    "docker json-file": _docker,
    "journalctl": _before("Nov 21 03:56:{second:02d} node{rank} python[4711]: "),
    "journalctl -o short-monotonic": _before("[   12.{n:06d}] node{rank} python[4711]: "),
    "journalctl -o short-full": _before("Sat 2026-11-21 03:56:{second:02d} UTC n python[4711]: "),
    "journalctl -o json": _object(
        lambda text, rank: {
            "__CURSOR": "s=1",
            "_HOSTNAME": "n",
            "_PID": f"4{rank}",
            "MESSAGE": text,
        }
    ),
    "Google Cloud Logging": _object(
        lambda text, rank: {
            "insertId": "1",
            "resource": {"type": "k8s_container", "labels": {"pod_name": f"worker-{rank}"}},
            "textPayload": text,
        }
    ),
    "Fluent Bit": _object(
        lambda text, rank: {
            "log": text,
            "stream": "stderr",
            "kubernetes": {"pod_name": f"worker-{rank}", "container_name": "tensorflow"},
        }
    ),
    "JSON lines": _object(lambda text, _: {"timestamp": 1795233394965, "message": text}),
    "gh run view --log": _before("train\tRun python\t2026-11-21T03:56:{second:02d}.{n:07d}Z "),
    "GitLab CI": _before("2026-11-21T03:56:{second:02d}.{n:06d}Z 01O "),
    "times": _before("2026-11-21T03:56:{second:02d}.{n:07d}Z "),
    "quotes": _before("> "),
    "grep -n": _before("run.log:{n}:"),
    "line numbers": _before("{n:6d}\t"),
    "times, docker compose, mpirun --tag-output": _before(
        "2026-11-21T03:56:{second:02d}.{n:07d}Z worker-1  | [1,{rank}]<{channel}>: "
    ),
}
"""By what `analyze` says of them, or that with more behind it."""
TELL_APART = (
    "mpirun --tag-output",
    "srun --label",
    "Ray",
    "docker compose",
    "Foreman",
    "kubectl logs --prefix",
    "journalctl -o json",
)
CUTTING = ("CRI", "docker json-file")


def wrapped(log: bytes, name: str, rank: int = 0) -> bytes:
    """A log as one process's output within a wrapper."""
    wrap = WRAPPERS[name]
    lines = log.removesuffix(b"\n").split(b"\n")
    return b"".join(wrap(line, number, rank) + b"\n" for number, line in enumerate(lines))


def mixed(logs: Sequence[bytes], name: str) -> tuple[bytes, list[list[int]]]:
    """Logs of several ranks in one file, in turns; and of each line of each log its line there."""
    wrap, left = WRAPPERS[name], [log.removesuffix(b"\n").split(b"\n") for log in logs]
    places: list[list[int]] = [[] for _ in logs]
    made: list[bytes] = []
    turn = 0
    while any(len(places[rank]) < len(lines) for rank, lines in enumerate(left)):
        rank, length = turn * 5 % len(logs) if len(logs) > 5 else turn % len(logs), turn * 37 % 41
        begin = len(places[rank])
        for line in left[rank][begin : begin + length]:
            places[rank].append(len(made) + 1)
            made.append(wrap(line, len(made), rank))
        turn += 1
    return b"".join(line + b"\n" for line in made), places


def journal_export(logs: Sequence[bytes]) -> bytes:
    """Logs of several processes, in turns, as `journalctl -o export` gives them."""
    made: list[bytes] = []
    lines = [log.removesuffix(b"\n").split(b"\n") for log in logs]
    for begin in range(0, max(map(len, lines)), 13):
        for rank, each in enumerate(lines):
            for number, line in enumerate(each[begin : begin + 13]):
                message, pid = b"MESSAGE=" + line, b"_PID=471%d" % rank
                fields = [message, pid] if number % 2 else [pid, message]
                made += b"__CURSOR=s=1;i=%d" % len(made), b"_HOSTNAME=node1", *fields, b""
    return b"".join(line + b"\n" for line in made)


def in_fragments(
    logs: Sequence[bytes], form: str, size: int = 4096, room: int | None = None
) -> bytes:
    """Logs of several ranks as mpirun writes what it has read: 4 kB of each, which end anywhere.

    A tag is before each of these, and behind each line feed that has text behind it. Of all that
    `room` bytes are written, 8 kB (Open MPI 4.1 iof_base_output.c, orte_iof_base_write_output).
    """
    made = []
    for begin in range(0, max(map(len, logs)), size):
        for rank, log in enumerate(logs):
            tag, piece = form.format(rank).encode(), log[begin : begin + size]
            if piece:
                tagged = tag + piece[:-1].replace(b"\n", b"\n" + tag) + piece[-1:]
                made.append(tagged[:room])
    return b"".join(made)
