"""Names to sources: files, directories, pipes, standard input; and reading ahead in a thread."""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import run_command
from tests.samples import raw_log
from tflogscope import open_log
from tflogscope.errors import InputError, UsageError
from tflogscope.grammar.load import load_grammar
from tflogscope.sources.discover import find_sources, natural_key
from tflogscope.sources.readers import read_ahead
from tflogscope.sources.source import Source
from tflogscope.sources.streams import find_streams


def text_of(source: Source) -> bytes:
    return b"".join(block.text for block in source.blocks())


def test_name_and_size_are_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.log").write_bytes(b"a\nb\n")
    (source,) = find_sources(["./run.log"])
    assert (source.name, source.size) == ("./run.log", 4)
    assert text_of(source) == b"a\nb\n"


def test_account_is_fresh_for_each_pass(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(b"a\n\xff")
    (source,) = find_sources([tmp_path])
    assert text_of(source) == text_of(source)
    first = source.account
    text_of(source)
    assert source.account == first
    assert source.account is not first
    assert first.bad_bytes == 1


@pytest.mark.parametrize("name", ["x[1].log", "*.log", "a?b", "~", "$HOME", "--json", "new\nline"])
def test_names_are_no_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x1.log").write_bytes(b"wrong\n")
    Path(name).write_bytes(b"right\n")
    (source,) = find_sources([name])
    assert source.name == name
    assert text_of(source) == b"right\n"


def test_name_that_is_no_utf8(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/run\xff.log")
    try:
        Path(path).write_bytes(b"a\n")
    except OSError:
        pytest.skip("the file system wants UTF-8")
    (source,) = find_sources([path])
    assert source.name == str(tmp_path / "run\\xff.log")
    assert text_of(source) == b"a\n"


def test_directory_in_natural_order(tmp_path: Path) -> None:
    names = ["run.log", "run.log.1", "run.log.2", "run.log.10", "sub2/a", "sub10/b", "x.bin"]
    for name in [*names, ".hidden", ".git/config", "sub2/.swp"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x\n")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(tmp_path / "pipe")
    sources = find_sources([tmp_path])
    assert [source.name for source in sources] == [str(tmp_path / name) for name in names]


def test_natural_key_tells_all_names_apart() -> None:
    names = ["1", "01", "a1b2", "a1b10", "a", "", "9" * 200]
    assert len({str(natural_key(name)) for name in names}) == len(names)
    assert sorted(names, key=natural_key) == ["", "01", "1", "9" * 200, "a", "a1b2", "a1b10"]


def test_same_file_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"x\n")
    (tmp_path / "link").symlink_to(path)
    sources = find_sources([path, tmp_path / "link", f"{tmp_path}/./run.log", tmp_path, "-", "-"])
    assert [source.name for source in sources] == [str(path), "-"]


def test_order_is_the_users(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"")
    names = [str(tmp_path / "b"), str(tmp_path / "a")]
    assert [source.name for source in find_sources(names)] == names


def test_nothing_named() -> None:
    with pytest.raises(UsageError):
        find_sources([])


@pytest.mark.parametrize("name", ["missing.log", "", "a\0b", "x*.log"])
def test_missing_file(name: str) -> None:
    with pytest.raises(InputError) as caught:
        find_sources([name])
    assert caught.value.where is not None
    assert "\0" not in str(caught.value)


def test_missing_file_says_what_to_do() -> None:
    with pytest.raises(InputError) as caught:
        find_sources(["missing.log"])
    assert caught.value.where == "missing.log"
    assert caught.value.what == "can't be read: No such file or directory"
    assert caught.value.hint is not None


def test_directory_without_files(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_bytes(b"x\n")
    with pytest.raises(InputError, match="no files"):
        find_sources([tmp_path])


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.log").write_bytes(b"x\n")
    monkeypatch.setattr(os, "access", lambda *_: False)
    for named in (tmp_path / "run.log", tmp_path):
        with pytest.raises(InputError, match="Permission denied") as caught:
            find_sources([named])
        assert caught.value.hint is not None


def test_file_that_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"x\n")
    (source,) = find_sources([path])
    path.unlink()
    with pytest.raises(InputError, match="No such file"):
        text_of(source)


class PipedInput(io.TextIOWrapper):
    """Standard input as a pipe, which has no size and can't be read twice."""

    def __init__(self, data: bytes) -> None:
        reading, writing = os.pipe()
        self.writer = threading.Thread(target=self._fill, args=(writing, data))
        self.writer.start()
        super().__init__(open(reading, "rb"), encoding="utf-8")  # noqa: SIM115

    @staticmethod
    def _fill(writing: int, data: bytes) -> None:
        with open(writing, "wb") as pipe:
            pipe.write(data)


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_can_be_read_twice(monkeypatch: pytest.MonkeyPatch, *, packed: bool) -> None:
    text = b"".join(b"line %d\n" % number for number in range(200_000))
    with PipedInput(gzip.compress(text) if packed else text) as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        (source,) = find_sources(["-"])
        assert (source.name, source.size) == ("-", None)
        next(source.blocks())  # a pass given up loses nothing
        assert text_of(source) == text
        assert text_of(source) == text
        standard_input.writer.join()


def test_standard_input_as_a_python_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\r\nb")))
    (source,) = find_sources(["-"])
    assert text_of(source) == text_of(source) == b"a\nb\n"


def test_standard_input_from_a_file_is_read_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run.log").write_bytes(b"header\nrest\n")
    with (tmp_path / "run.log").open(encoding="utf-8") as standard_input:
        os.lseek(standard_input.fileno(), 7, os.SEEK_SET)
        monkeypatch.setattr(sys, "stdin", standard_input)
        (source,) = find_sources(["-"])
        assert source.size == 5
        assert text_of(source) == text_of(source) == b"rest\n"


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="closed"):
        find_sources(["-"])


def test_fifo(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"one\ntwo",))
    writer.start()
    (source,) = find_sources([path])
    assert source.size is None
    assert text_of(source) == text_of(source) == b"one\ntwo\n"
    writer.join()


def test_no_room_for_the_temporary_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n")))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    (source,) = find_sources(["-"])
    with pytest.raises(InputError, match="temporary copy") as caught:
        text_of(source)
    assert caught.value.hint is not None
    assert "TMPDIR" in caught.value.hint


@pytest.mark.thorough
@pytest.mark.parametrize("first", [b"line\n", b"a line longer than memory holds" * 400_000 + b"\n"])
def test_a_pipe_that_is_read_once_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: bytes
) -> None:
    text = first + b"".join(b"line %d\n" % number for number in range(1_000_000))
    if first == b"line\n":
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with PipedInput(text) as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        (source,) = find_streams(["-"], load_grammar(), again=False)
        given = text_of(source)
        assert given[:30] == text[:30]
        assert given[-(10 << 20) :] == text[-(10 << 20) :]
        assert len(given) == len(text) - source.account.cut_bytes
        standard_input.writer.join()
    if first == b"line\n":
        with pytest.raises(InputError, match="can't be read again"):
            text_of(source)


@pytest.mark.thorough
def test_a_damaged_archive_through_a_pipe_gives_what_it_gives_as_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    numbers = random.Random(1)
    text = b"".join(b"%d\n" % numbers.getrandbits(64) for _ in range(1_500_000))
    packed = gzip.compress(text, 1)
    damaged = packed[:-1000] + bytes(1000)
    assert len(damaged) > 10 << 20
    (tmp_path / "run.log.gz").write_bytes(damaged)
    (file,) = find_sources([tmp_path / "run.log.gz"])
    with PipedInput(damaged) as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        (source,) = find_streams(["-"], load_grammar(), again=False)
        assert text_of(source) == text_of(file)
        assert source.account.problem == file.account.problem is not None
        standard_input.writer.join()


def test_read_ahead_gives_the_same(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(b"line\n" * (4 << 20))
    (source,) = find_sources([tmp_path])
    ahead = list(read_ahead(source.blocks()))
    assert ahead == list(source.blocks())
    assert len(ahead) == 11
    assert list(read_ahead([])) == []


def test_read_ahead_passes_errors_on() -> None:
    def blocks() -> Iterator[int]:
        yield 1
        raise InputError("torn", "run.log")

    ahead = read_ahead(blocks())
    assert next(ahead) == 1
    with pytest.raises(InputError, match="torn"):
        next(ahead)


@pytest.mark.parametrize("taken", [1, 2, 5])
def test_read_ahead_stops_when_the_consumer_stops(taken: int) -> None:
    closed, full = threading.Event(), threading.Event()
    made = []

    def blocks() -> Iterator[int]:
        try:
            for number in range(1000):
                made.append(number)
                if len(made) == taken + 3:  # two in the queue, one in the hands of the thread
                    full.set()
                yield number
        finally:
            closed.set()

    before = threading.active_count()
    ahead = read_ahead(blocks(), depth=2)
    for _ in range(taken):
        next(ahead)
    assert full.wait(10)
    ahead.close()
    assert closed.is_set()
    assert threading.active_count() == before
    assert len(made) <= taken + 4


def test_read_ahead_runs_ahead_but_not_far() -> None:
    third = threading.Event()
    made = []

    def blocks() -> Iterator[int]:
        for number in range(10):
            made.append(number)
            if number == 2:
                third.set()
            yield number

    ahead = read_ahead(blocks(), depth=2)
    next(ahead)
    assert third.wait(10)
    assert len(made) <= 4
    ahead.close()


def test_a_directory_gives_its_logs_and_says_how_many_other_files_it_has(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "run.log").write_bytes(raw_log("eager_basics__tf2.8.4__vlog2"))
    (logs / "train.py").write_text("import tensorflow as tf\n")
    (logs / "config.json").write_text('{"epochs": 2}\n')
    (logs / "loss.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100)
    done = run_command("analyze", logs)
    assert done.returncode == 0
    assert b"skipped 3 files without records, such as" in done.stderr
    assert len(open_log(logs).sources) == 1
    done = run_command("collect", logs, "-o", tmp_path / "runs")
    assert (done.returncode, b"1 run in" in done.stderr) == (0, True)
    # Near misses: a file that is named is read; a directory without any log is said to be none.
    done = run_command("analyze", logs / "run.log", logs / "train.py")
    assert b"skipped" not in done.stderr
    (logs / "run.log").unlink()
    done = run_command("analyze", logs)
    assert (done.returncode, b"skipped" in done.stderr) == (3, False)
