"""Folders as nobody makes them: deep ones, pipes in them, and some that may not be written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import run_command
from tests.deep import first_quick
from tests.samples import path_of
from tflogscope.errors import OutputError
from tflogscope.exports.atomic import refuse_bad_target
from tflogscope.folders import files_below
from tflogscope.repository import repository
from tflogscope.stores.folder import LocalFolder

LOG = path_of("error__tf2.13.1__vlog2")


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A folder that is 1,400 deep, with a log at its end."""
    path, here = tmp_path / "deep", Path.cwd()
    path.mkdir()
    os.chdir(path)
    for _ in range(1400):
        os.mkdir("d")  # noqa: PTH102  relative, as the whole path is long
        os.chdir("d")
    Path("run.log.zst").write_bytes(LOG.read_bytes())
    yield path
    Path("run.log.zst").unlink()
    for _ in range(1400):  # what removes folders goes no deeper than Python does
        os.chdir("..")
        os.rmdir("d")  # noqa: PTH106
    os.chdir(here)


def test_a_deep_folder_is_read(deep: Path, tmp_path: Path) -> None:
    assert run_command("analyze", deep).returncode == 0
    assert run_command("analyze", LOG, "--grammar", deep).returncode == 0
    assert run_command("collect", LOG, "-o", deep, "--workers", "1").returncode == 2
    assert [*tmp_path.iterdir()] == [deep]


def test_files_are_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b/x", "a/2", "a/1/y", "c", ".h/z"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("")
    found = files_below(tmp_path, str, hidden=False)
    paths = [Path(each).relative_to(tmp_path).as_posix() for each in found]
    assert paths == ["a/1/y", "a/2", "b/x", "c"]
    assert len([*files_below(tmp_path, str, hidden=True)]) == 5
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert len([*files_below(tmp_path, str, hidden=False)]) == 5


def test_a_pipe_in_a_store_is_not_waited_for(tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert run_command("collect", LOG, "-o", store, "--workers", "1").returncode == 0
    os.mkfifo(store / "runs" / "x.parquet")
    os.mkfifo(store / "pipe")
    assert run_command("query", store, "SELECT run FROM ops").returncode == 0
    assert not LocalFolder(str(store)).holds("pipe", b"")
    [table] = (store / "ops").glob("run=*/*.parquet")
    table.unlink()
    os.mkfifo(table)
    done = run_command("query", store, "SELECT run FROM ops")
    assert (done.returncode, b"missing" in done.stderr) == (3, True)
    assert run_command("collect", LOG, "-o", store, "--workers", "1").returncode == 2


def test_a_folder_that_may_not_be_written_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with pytest.raises(OutputError, match="Permission denied") as error:
        refuse_bad_target(tmp_path / "page.html", force=False)
    assert error.value.hint == "Use a file in a directory that you can write to."


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no folder that is in use")
@pytest.mark.parametrize(
    "command",
    first_quick(
        (words,)
        for words in (
            ["check", str(LOG)],
            ["record", "-o", "run.log", "--", "true"],
            ["collect", str(LOG)],
        )
    ),
)
def test_a_current_directory_that_is_gone_is_said(tmp_path: Path, command: list[str]) -> None:
    gone, more = tmp_path / "gone", ["-o", str(tmp_path / "store")]
    gone.mkdir()
    program = "import os, sys; import tflogscope.cli.main as m; os.rmdir(os.getcwd())"
    run = [sys.executable, "-c", f"{program}; sys.exit(m.main())", *command]
    run += more if command[0] == "collect" else []
    done = subprocess.run(run, cwd=gone, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        b"tflogscope: the current directory no longer exists\nChange to an existing directory.\n",
    )


def test_a_folder_that_may_not_be_searched_is_in_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any, **_: Any) -> os.stat_result:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "stat", refuse)
    assert repository(tmp_path) is None


@pytest.mark.parametrize("threads", first_quick((each,) for each in ("0", "", "-1", "many")))
def test_no_number_of_threads_is_a_fault(threads: str) -> None:
    command = [sys.executable, "-m", "tflogscope", "ops", str(LOG), "--format", "csv"]
    environment = {**os.environ, "POLARS_MAX_THREADS": threads}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
