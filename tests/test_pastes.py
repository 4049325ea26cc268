"""Logs as they come out of terminals and chats: rows are those of the log, or counted as lost."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.samples import NAMES, raw_log
from tflogscope import Run, open_log

LOGS = NAMES[:20:2]
WIDTHS = (80, 100, 120)
_LINES = 300
_DECIMALS = re.compile(r"(?m)^(onednn_verbose,.*),(\d+)\.(\d+)$")


def piece_of(name: str) -> str:
    """Some lines of a log, around one in which oneDNN ran something if there is one."""
    lines = raw_log(name).decode(errors="replace").splitlines()
    ran = [at for at, line in enumerate(lines) if re.match(r"onednn_verbose,.*exec,", line)]
    begin = max(0, (ran[len(ran) // 2] if ran else len(lines) // 2) - _LINES // 2)
    return "".join(f"{line}\n" for line in lines[begin : begin + _LINES])


def folded(text: str, width: int) -> str:
    """Text as a terminal of so many columns shows it."""
    lines = text.split("\n")
    return "\n".join(
        line[at : at + width] for line in lines for at in range(0, max(1, len(line)), width)
    )


def opened(path: Path, text: str) -> Run:
    path.write_text(text)
    return open_log(path)


def said(run: Run) -> list[pl.DataFrame]:
    """What a log says, without the numbers of its lines, and what is estimated from these."""
    lines = pl.selectors.contains("line", "source", "work_us")
    ops = run.ops.select(~lines).sort("mode", "kind", "op", "kernel", "rewrite")
    return [ops, *(table.select(~lines) for table in (run.timeline, run.primitives))]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", LOGS)
def test_lines_that_were_folded_are_put_together_again(
    tmp_path: Path, name: str, width: int
) -> None:
    text = piece_of(name)
    log = opened(tmp_path / "run.log", text)
    paste = opened(tmp_path / "paste.log", folded(text, width))
    assert paste.summary.recorded.envelope == f"lines folded at {width} columns"
    for mine, its in zip(said(paste), said(log), strict=True):
        assert mine.equals(its)
    # Lines are those of the paste.
    lines = folded(text, width).split("\n")
    for line, node in paste.timeline.drop_nulls("node").select("line", "node").head(20).rows():
        assert node in "".join(lines[line - 1 : line + 9])


@pytest.mark.parametrize("name", LOGS)
def test_times_with_a_decimal_comma_are_lost_and_counted(tmp_path: Path, name: str) -> None:
    text = piece_of(name)
    log = opened(tmp_path / "run.log", text)
    paste = opened(tmp_path / "paste.log", _DECIMALS.sub(r"\1,\2,\3", text))
    lost = len(_DECIMALS.findall(text))
    assert paste.summary.recorded.onednn_unread_lines == lost
    assert paste.coverage["unknown"].sum() == log.coverage["unknown"].sum() + lost
    assert paste.primitives["duration_us"].drop_nulls().to_list() == [0.0] * (
        log.primitives.filter(duration_us=0).height
    )
    assert paste.timeline["node"].equals(log.timeline["node"])


def test_full_lines_before_records_are_no_folds(tmp_path: Path) -> None:
    """Records of one length, and a table of the program's between them."""
    text = "".join(
        f"2026-11-21 03:56:34.{number:06}: I tensorflow/core/common_runtime/eager/execute.cc:1678] "
        f"Executing op Add{number} in device /job:localhost/replica:0/task:0/device:CPU:0\n"
        for number in range(100, 200)
    )
    run = opened(tmp_path / "run.log", text)
    assert run.summary.recorded.envelope is None
    assert run.ops.height == 100
