"""`tools/drift.py` on wheels that are made up: what is gone, and what looks new."""

from __future__ import annotations

import runpy
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.samples import ROOT

DRIFT: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "drift.py"))
RELEASE = (2, 20)
KNOWN = list(DRIFT["messages"](RELEASE))
KERNEL = "_MklEinsum"
# A literal text of execute.toml, alone in its message, and another one to put something beside.
GONE, BESIDE = "Executing op ", "Instantiating MultiDevice function "


def library(texts: list[str]) -> bytes:
    """An ELF file that has nothing but `.rodata`, with these strings."""
    data, names = "\0".join(["", *texts, ""]).encode(), b"\0.rodata\0.shstrtab\0"
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    sections = [(0, 0, 0), (1, 64, len(data)), (9, 64 + len(data), len(names))]
    struct.pack_into("<Q", header, 0x28, 64 + len(data) + len(names))
    struct.pack_into("<HHH", header, 0x3A, 64, len(sections), 2)
    table = b"".join(
        struct.pack("<IIQQQQ", name, 1, 0, 0, at, size).ljust(64, b"\0")
        for name, at, size in sections
    )
    return bytes(header) + data + names + table


def wheel(folder: Path, release: str, *, without: tuple[str, ...] = (), more: str = "") -> Path:
    """A wheel of a release that has all that `grammars/` knows, but for some."""
    texts = [text + more * (text == BESIDE) for _, text in KNOWN]
    kept = [text for text in {*texts, *DRIFT["kernels"]()} if text not in without]
    path = folder / f"tensorflow_cpu-{release}-cp311.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tensorflow/libtensorflow_cc.so.2", library(sorted(kept)))
        archive.writestr("tensorflow/notes.so", b"not a library")
    return path


def drift(monkeypatch: pytest.MonkeyPatch, *arguments: Path | str) -> int:
    monkeypatch.setattr("sys.argv", ["drift.py", *map(str, arguments)])
    return int(DRIFT["main"]())


def test_the_texts_asked_for_are_known() -> None:
    assert {GONE, BESIDE} <= {text for _, text in KNOWN}
    assert KERNEL in DRIFT["kernels"]()


def test_a_release_with_everything_has_nothing_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = wheel(tmp_path, "2.20.0"), wheel(tmp_path, "2.20.1")
    assert drift(monkeypatch, new, "--against", old) == 0
    said = capsys.readouterr().out
    assert f"{len(KNOWN)} texts, {len(DRIFT['kernels']())} kernels, 0 gone" in said
    assert "0 texts beside known ones look new" in said


def test_what_is_gone_and_what_is_new_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = wheel(tmp_path, "2.20.0")
    new = wheel(tmp_path, "2.20.1", without=(GONE, KERNEL), more="\0Never seen before in a log\0")
    assert drift(monkeypatch, new, "--against", old) == 1
    said = capsys.readouterr().out.splitlines()
    assert any(each.startswith("  executing_op, ") and repr(GONE) in each for each in said)
    assert f"  {KERNEL}, grammars/onednn/ops.toml" in said
    assert "  Never seen before in a log" in said
    # What the older one doesn't have either has not gone, and nothing to compare with fails.
    assert drift(monkeypatch, new, "--against", new) == 0
    assert drift(monkeypatch, new) == 0
    assert "3 not there as they are written" in capsys.readouterr().out
