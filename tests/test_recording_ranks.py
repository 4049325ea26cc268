"""Recordings that a launcher starts: a file for each rank, and never two in one."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.command import run_command
from tflogscope.errors import OutputError, UsageError
from tflogscope.model.common.origin import header_of, place_of
from tflogscope.recording.header import log_path
from tflogscope.recording.log_file import LogFile

PRINTS = [sys.executable, "-c", "print('hello')"]
CLUSTER = {
    "cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]},
    "task": {"type": "worker", "index": 1},
}


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"OMPI_COMM_WORLD_RANK": "3"}, (None, 3)),
        ({"PMI_RANK": "0"}, (None, 0)),
        ({"SLURM_PROCID": "12"}, (None, 12)),
        ({"RANK": "1", "OMPI_COMM_WORLD_RANK": "2"}, (None, 2)),
        ({"TF_CONFIG": json.dumps(CLUSTER), "RANK": "7"}, ("c:1", 2)),
        ({"TF_CONFIG": "{", "RANK": "7"}, (None, 7)),
        ({"RANK": "first"}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_a_launcher_says_the_rank(
    environment: dict[str, str], place: tuple[str | None, int | None]
) -> None:
    assert place_of(environment) == place


def test_a_path_is_filled_in() -> None:
    path = Path("{host}/run.{rank}.{pid}.{job}.log.zst")
    filled = log_path(path, {"RANK": "5"})
    assert filled.name == f"run.5.{os.getpid()}.{{job}}.log.zst"
    assert "{" not in str(filled.parent)
    assert len(filled.parts) == 2
    with pytest.raises(UsageError, match="no environment variable gives the rank") as refused:
        log_path(path, {})
    assert "OMPI_COMM_WORLD_RANK" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("job", "index", "named"),
    [
        ("ps", 0, "ps0"),
        ("evaluator", 0, "evaluator0"),
        ("chief", 0, "chief0"),
        ("worker", 1, "worker1"),
        ("a/b", 2, "a_b2"),
    ],
)
def test_each_task_of_a_cluster_has_a_name(job: str, index: int, named: str) -> None:
    cluster = {"worker": ["b:1", "c:1"], "ps": ["d:1"]}
    given = {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})}
    assert log_path(Path("run.{rank}.log"), given).name == f"run.{named}.log"


@pytest.mark.thorough
def test_each_rank_writes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for rank in ("0", "1"):
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", rank)
        assert run_command("record", "-o", "run.{rank}.log", "--", *PRINTS).returncode == 0
        header = header_of(Path(f"run.{rank}.log").read_bytes())
        assert header is not None
        assert header["environment"]["OMPI_COMM_WORLD_RANK"] == rank
    again = run_command("record", "-o", "run.0.log", "--", *PRINTS)
    assert again.returncode == 2
    assert b"Use one file per rank: -o run.{rank}.log.zst" in again.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other locks")
def test_two_recordings_never_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    first = LogFile(path, force=True)
    first.write(b"first\n")
    with pytest.raises(OutputError, match="another process is writing to it"):
        LogFile(path, force=True)
    first.close()
    assert path.read_bytes() == b"first\n"
    second = LogFile(path, force=True)
    second.write(b"second\n")
    second.close()
    assert path.read_bytes() == b"second\n"
