"""Commands that read a log twice: what they say if it has changed by then; nothing is mixed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.samples import raw_log
from tflogscope import open_log
from tflogscope.cli.main import main
from tflogscope.errors import InputError
from tflogscope.events.scan import Scan

LOG = raw_log("eager_basics__tf2.8.4__vlog2")
OTHER = raw_log("function_mlp__tf2.13.1__vlog2")


def replaced(path: Path) -> None:
    new = path.with_name("new")
    new.write_bytes(OTHER)
    new.replace(path)


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "replaced": (replaced, "was replaced while it was being read"),
    "written anew": (lambda path: path.write_bytes(OTHER), "was replaced while it was being read"),
    "truncated": (lambda path: os.truncate(path, 1000), "was replaced while it was being read"),
    "gone": (Path.unlink, "No such file"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_log_that_is_another_one_by_now(tmp_path: Path, change: str) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(LOG)
    make, said = CHANGES[change]
    run = open_log(path)
    make(path)
    with pytest.raises(InputError, match=said):
        _ = run.inputs


@pytest.mark.thorough
@pytest.mark.parametrize("change", CHANGES)
def test_a_report_of_a_log_that_is_another_one_by_now(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: str,
) -> None:
    path, page = tmp_path / "run.log", tmp_path / "page.html"
    path.write_bytes(LOG)
    make, said = CHANGES[change]

    read = Scan.wait

    def read_and_change(scan: Scan, *arguments: object) -> Scan:
        monkeypatch.setattr(Scan, "wait", read)  # the report scans it once more
        read(scan, *arguments)  # type: ignore[arg-type]
        make(path)
        return scan

    monkeypatch.setattr(Scan, "wait", read_and_change)
    assert main(["report", str(path), "-o", str(page)]) == 3
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 2
    assert not page.exists()


def test_what_is_appended_meanwhile_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(LOG)
    run = open_log(path)
    before = open_log(path)
    expected = before.inputs
    with path.open("ab") as log:
        log.write(OTHER)
    assert run.inputs == expected
    assert run.coverage["bytes"][0] == len(LOG)
