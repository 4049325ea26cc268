"""What `open_log` says about inputs that hold no log."""

from __future__ import annotations

from pathlib import Path

import pytest

import tflogscope
from tests.conftest import Open
from tflogscope.errors import NothingRecognised


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    empty = [tmp_path / name for name in ("a.log", "b.log")]
    for path in empty:
        path.touch()
    for inputs in ([empty[0]], empty, [tmp_path]):
        with pytest.raises(NothingRecognised, match="it is empty") as refused:
            tflogscope.open_log(*inputs)
        assert str(empty[0]) in (refused.value.where or "")
        assert "> run.log 2>&1" in (refused.value.hint or "")


def test_an_archive_of_which_nothing_can_be_read_is_not_said_to_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "run.log.gz"
    path.write_bytes(b"\x1f\x8b\x08garbage")
    with pytest.raises(NothingRecognised, match="gzip archive") as refused:
        tflogscope.open_log(path)
    assert refused.value.where == str(path)


@pytest.mark.parametrize("text", ["\n", "hello\n", "\x00"])
def test_a_file_that_is_no_log_is_not_said_to_be_empty(opened: Open, text: str) -> None:
    with pytest.raises(NothingRecognised, match="no TensorFlow or oneDNN record"):
        opened(text)
