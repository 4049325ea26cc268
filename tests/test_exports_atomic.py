from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tflogscope.errors import OutputError
from tflogscope.exports.atomic import atomic_file, refuse_bad_target
from tflogscope.stores.folder import LocalFolder


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_file_appears_whole_and_alone(tmp_path: Path) -> None:
    target = tmp_path / "ops.csv"
    with atomic_file(target) as stream:
        stream.write(b"a,b\n")
        assert not target.exists()
    assert target.read_bytes() == b"a,b\n"
    assert names(tmp_path) == ["ops.csv"]


def test_a_new_file_gets_the_permissions_of_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with atomic_file(tmp_path / "x") as stream:
            stream.write(b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt])
def test_an_end_in_the_middle_leaves_what_was_there(
    tmp_path: Path, end: type[BaseException], force: bool
) -> None:
    target = tmp_path / "ops.csv"
    if force:
        target.write_bytes(b"old")
    with pytest.raises(end), atomic_file(target, force=force) as stream:
        stream.write(b"half")
        raise end
    assert names(tmp_path) == (["ops.csv"] if force else [])
    if force:
        assert target.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_termination_in_the_middle_leaves_nothing(tmp_path: Path, name: str) -> None:
    code = (
        "import os, signal, sys\n"
        "from tflogscope.exports.atomic import atomic_file\n"
        "with atomic_file(sys.argv[1]) as stream:\n"
        "    stream.write(b'half')\n"
        "    stream.flush()\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "    signal.pause()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "x"], check=False)
    assert done.returncode == -getattr(signal, name)
    assert names(tmp_path) == []


def test_what_a_program_does_on_a_signal_stays(tmp_path: Path) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    try:
        with atomic_file(tmp_path / "x") as stream:
            os.kill(os.getpid(), signal.SIGTERM)
            stream.write(b"whole")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (seen, (tmp_path / "x").read_bytes()) == ([signal.SIGTERM], b"whole")


def test_a_kill_in_the_middle_leaves_no_target(tmp_path: Path) -> None:
    target = tmp_path / "ops.csv"
    code = (
        "import os, signal, sys\n"
        "from tflogscope.exports.atomic import atomic_file\n"
        "with atomic_file(sys.argv[1]) as stream:\n"
        "    stream.write(b'half')\n"
        "    stream.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, target], check=False)
    assert done.returncode == -9
    assert not target.exists()


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "from tflogscope.errors import OutputError\n"
        "from tflogscope.exports.atomic import atomic_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    with atomic_file(sys.argv[1]) as stream:\n"
        "        stream.write(b'x' * 100_000)\n"
        "except OutputError as error:\n"
        "    sys.exit(f'{error.what}')\n"
    )
    target = tmp_path / "ops.csv"
    done = subprocess.run([sys.executable, "-c", code, target], capture_output=True, check=False)
    assert done.stderr.decode().strip() == f"can't write: {os.strerror(errno.EFBIG)}"
    assert names(tmp_path) == []


def test_an_existing_file_needs_force_and_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "ops.csv"
    target.write_bytes(b"old")
    target.chmod(0o604)
    with pytest.raises(OutputError, match="already exists"), atomic_file(target):
        pytest.fail("must not get here")
    assert target.read_bytes() == b"old"
    with atomic_file(target, force=True) as stream:
        stream.write(b"new")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o604


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _no_hard_links)
    target = tmp_path / "ops.csv"
    with pytest.raises(OutputError, match="exists"), atomic_file(target) as stream:
        stream.write(b"ours")
        target.write_bytes(b"theirs")
    assert target.read_bytes() == b"theirs"
    assert names(tmp_path) == ["ops.csv"]


def test_a_file_system_without_hard_links_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", _no_hard_links)
    with atomic_file(tmp_path / "x") as stream:
        stream.write(b"x")
    assert names(tmp_path) == ["x"]


def _no_hard_links(*_: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.mark.parametrize("force", [False, True])
def test_a_directory_is_never_replaced(tmp_path: Path, force: bool) -> None:
    with pytest.raises(OutputError, match="directory"):
        refuse_bad_target(tmp_path, force=force)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught:
        refuse_bad_target(tmp_path / "no" / "ops.csv", force=False)
    assert caught.value.where == str(tmp_path / "no")


@pytest.mark.parametrize("force", [False, True])
def test_a_device_is_never_replaced_even_behind_a_link(tmp_path: Path, force: bool) -> None:
    link = tmp_path / "ops.csv"
    link.symlink_to(os.devnull)
    with pytest.raises(OutputError, match="not a regular file"):
        refuse_bad_target(link, force=force)


def test_a_link_is_replaced_itself_never_its_target(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    link = tmp_path / "ops.csv"
    link.symlink_to(precious)
    with pytest.raises(OutputError, match="already exists"):
        refuse_bad_target(link, force=False)
    with atomic_file(link, force=True) as stream:
        stream.write(b"new")
    assert precious.read_bytes() == b"precious"
    assert not link.is_symlink()
    assert link.read_bytes() == b"new"


def test_a_dangling_link_counts_as_a_file(tmp_path: Path) -> None:
    link = tmp_path / "ops.csv"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="already exists"):
        refuse_bad_target(link, force=False)
    with atomic_file(link, force=True) as stream:
        stream.write(b"new")
    assert names(tmp_path) == ["ops.csv"]


def test_a_file_that_can_not_be_removed_from_a_store_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(OutputError, match="can't write: Permission denied"):
        LocalFolder(str(tmp_path)).remove("x")


def test_a_read_only_directory_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:  # chmod would not stop a test that runs as root
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    with (
        pytest.raises(OutputError, match="can't write: Permission denied"),
        atomic_file(tmp_path / "x"),
    ):
        pytest.fail("must not get here")
