"""Bytes to blocks of clean text: encodings, line ends, bad bytes, long lines, files that change."""

from __future__ import annotations

import codecs
import io
import os
import re
import tracemalloc
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tflogscope.errors import InputError
from tflogscope.sources.block import LINE_CAP, Block, Chunk, SourceAccount
from tflogscope.sources.decompress import codec_of
from tflogscope.sources.discover import find_sources
from tflogscope.sources.lines import blocks_of, read_blocks
from tflogscope.sources.readers import PlainFile
from tflogscope.sources.text import character_start, encoding_of, escape, long_lines, without_holes

PIECES = [
    b"a",
    b"step 1 {{node x}}",
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xe2",
    b"\x82",
    b"\xf0\x9f",
    b"\xed\xa0\x80",
    b"\\x00",
    "é".encode(),
    "€".encode(),
    "😀".encode(),
    codecs.BOM_UTF8,
]
hostile_bytes = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join), st.binary(max_size=200)
)


class Memory:
    """A reader of bytes in memory, so that no file is written for each example."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read_at(self, position: int, count: int) -> bytes:
        return self.data[position : position + count]

    def reach(self, position: int) -> int:
        return min(position, len(self.data))

    def close(self) -> None:
        pass


def read(
    data: bytes, *, block_size: int = 1 << 20, line_cap: int = LINE_CAP
) -> tuple[bytes, SourceAccount, list[Block]]:
    account = SourceAccount()
    blocks = list(read_blocks(Memory(data), account, block_size=block_size, line_cap=line_cap))
    return b"".join(block.text for block in blocks), account, blocks


def physical_lines(raw: bytes) -> list[bytes]:
    """The lines without their ends, found as plainly as possible."""
    *ended, last = raw.split(b"\n")
    lines = [line[:-1] if line.endswith(b"\r") else line for line in ended]
    return [*lines, last] if last else lines


def escaped(line: bytes) -> bytes:
    return line.decode("utf-8", "backslashreplace").replace("\0", "\\x00").encode()


def bad_bytes_of(line: bytes) -> int:
    text = line.decode("utf-8", "surrogateescape")
    return sum(character == "\0" or "\udc80" <= character <= "\udcff" for character in text)


def without_mark(data: bytes) -> bytes:
    assume(codec_of(data) is None)
    encoding, mark = encoding_of(data[:4096])
    assume(encoding == "utf-8")
    return data[mark:]


@given(hostile_bytes, st.integers(1, 40))
@example(b"a\r\nb", 2)
@example("€\n".encode(), 1)
@example(b"\xe2\x82\n\x82", 2)
@example(codecs.BOM_UTF8 + b"\n", 1)
def test_text_and_account_are_what_the_rules_say(data: bytes, block_size: int) -> None:
    raw = without_mark(data)
    lines = physical_lines(raw)
    text, account, _ = read(data, block_size=block_size)
    assert text == b"".join(escaped(line) + b"\n" for line in lines)
    assert account == SourceAccount(bytes=len(data), bad_bytes=sum(map(bad_bytes_of, lines)))
    assert text.count(b"\n") == raw.count(b"\n") + (raw != b"" and not raw.endswith(b"\n"))


@pytest.mark.thorough
@given(hostile_bytes, st.integers(1, 40), st.integers(1, 30))
def test_block_size_changes_nothing_but_the_blocks(data: bytes, block_size: int, cap: int) -> None:
    whole_text, whole_account, _ = read(data, line_cap=cap)
    text, account, blocks = read(data, block_size=block_size, line_cap=cap)
    assert text == whole_text
    assert account == whole_account
    raw_bytes = 0
    for block in blocks:
        block.text.decode()
        assert block.text.endswith(b"\n")
        assert b"\0" not in block.text
        assert raw_bytes <= block.raw_bytes <= len(data)
        raw_bytes = block.raw_bytes
    assert not blocks or blocks[-1].raw_bytes == blocks[-1].position == len(data)


@given(hostile_bytes, st.integers(1, 30))
@example(b"\xed\xa0\x80\x82\xf0\x9f", 20)
def test_long_lines_keep_what_fits(data: bytes, cap: int) -> None:
    lines = physical_lines(without_mark(data))
    text, account, _ = read(data, line_cap=cap)
    got = text.split(b"\n")[:-1]
    assert len(got) == len(lines)
    cut = 0
    for kept, line in zip(got, lines, strict=True):
        full = escaped(line)
        assert full.startswith(kept)
        assert len(kept) <= cap
        if kept != full:
            cut += 1
            # Four bad bytes that could be one character stay together: sixteen bytes.
            assert len(kept) > cap - 20
    assert account.cut_lines == cut
    assert (account.cut_bytes > 0) == (cut > 0)


@given(st.lists(st.binary(max_size=12), max_size=12))
def test_chunks_may_be_cut_anywhere(pieces: list[bytes]) -> None:
    def chunks(parts: Iterable[bytes]) -> Iterator[Chunk]:
        end = 0
        for part in parts:
            end += len(part)
            yield Chunk(part, end, end)

    one, many = SourceAccount(), SourceAccount()
    whole = b"".join(b.text for b in blocks_of(chunks([b"".join(pieces)]), one, line_cap=9))
    assert b"".join(b.text for b in blocks_of(chunks(pieces), many, line_cap=9)) == whole
    assert many == one


def test_line_of_the_cap_is_whole_and_one_more_byte_is_cut() -> None:
    for block_size in (3, 1000):
        text, account, _ = read(b"12345\r\n123456\r\n12345", block_size=block_size, line_cap=5)
        assert text == b"12345\n12345\n12345\n"
        assert (account.cut_lines, account.cut_bytes) == (1, 1)


def test_cut_keeps_characters_whole() -> None:
    for block_size in (1, 3, 1000):
        text, account, _ = read("ab€€\n".encode(), block_size=block_size, line_cap=6)
        assert text == "ab€\n".encode()
        assert account.cut_bytes == 3
        assert account.bad_bytes == 0


def test_cut_counts_bad_bytes_that_are_shown_only() -> None:
    text, account, _ = read(b"\xff" * 10 + b"\nok\n", line_cap=8)
    assert text == b"\\xff\\xff\nok\n"
    assert (account.bad_bytes, account.cut_lines, account.cut_bytes) == (2, 1, 8)


def test_lines_around_a_long_one_are_whole() -> None:
    text, account, _ = read(b"one\r\r\n" + b"x" * 50 + b"\n\xfftwo\n\nthree", line_cap=20)
    assert text == b"one\r\n" + b"x" * 20 + b"\n\\xfftwo\n\nthree\n"
    assert account == SourceAccount(bytes=68, bad_bytes=1, cut_lines=1, cut_bytes=30)


def test_empty_input() -> None:
    assert read(b"") == (b"", SourceAccount(), [])


def test_only_a_byte_order_mark_is_no_line() -> None:
    assert read(codecs.BOM_UTF8) == (b"", SourceAccount(bytes=3), [])


def test_byte_order_mark_is_dropped_at_the_beginning_only() -> None:
    data = codecs.BOM_UTF8 + b"a\n" + codecs.BOM_UTF8 + b"b\n"
    assert read(data)[0] == b"a\n" + codecs.BOM_UTF8 + b"b\n"


def test_lone_carriage_return_stays() -> None:
    data = b"\r 10%\r 20%\r\ndone\r"
    assert read(data)[0] == b"\r 10%\r 20%\ndone\r\n"


@given(st.text(st.characters(codec="utf-8"), max_size=80), st.integers(1, 30), st.booleans())
def test_utf16_with_mark_is_the_same_text(words: str, block_size: int, big: bool) -> None:
    encoding = "utf-16-be" if big else "utf-16-le"
    mark = codecs.BOM_UTF16_BE if big else codecs.BOM_UTF16_LE
    data = mark + words.encode(encoding)
    text, account, blocks = read(data, block_size=block_size)
    # A byte order mark of its own keeps the expected text from being taken for UTF-16.
    same_text, same, _ = read(codecs.BOM_UTF8 + words.encode())
    assert text == same_text
    assert account.bad_bytes == same.bad_bytes
    assert account.bytes == len(data)
    assert not blocks or blocks[-1].raw_bytes == len(data)


def test_utf16_without_mark_if_it_is_plain() -> None:
    line = "2026-11-21 03:56:34.965368: I tensorflow/core/util/port.cc:113] oneDNN\r\n"
    text, account, _ = read((line * 200).encode("utf-16-le"))
    assert text == line.replace("\r", "").encode() * 200
    assert account.bad_bytes == 0


@pytest.mark.parametrize("data", [b"", b"a\0", b"\0\0\0\0\0\0", b"a\0b\0c", b"ab\0\0"])
def test_encoding_without_mark(data: bytes) -> None:
    expected = "utf-16-le" if data == b"a\0b\0c" else "utf-8"
    assert encoding_of(data) == (expected, 0)


@pytest.mark.parametrize("block_size", [1, 2, 3, 5, 100])
def test_broken_utf16_is_escaped_and_counted(block_size: int) -> None:
    lone = "a\ud800b\udc00\n".encode("utf-16-le", "surrogatepass")
    text, account, _ = read(codecs.BOM_UTF16_LE + lone + b"c", block_size=block_size)
    assert text == b"a\\x00\\xd8b\\x00\\xdc\n\\x63\n"
    assert account.bad_bytes == 5


def test_utf16_ends_inside_a_surrogate_pair() -> None:
    text, account, _ = read(codecs.BOM_UTF16_BE + "x😀".encode("utf-16-be")[:-1])
    assert text == b"x\\xd8\\x3d\\xde\n"
    assert account.bad_bytes == 3


def test_bad_bytes_far_apart_in_a_large_block() -> None:
    line = b"x" * 300 + b"\n"
    data = line * 400 + b"\xc3\n" + line * 400 + "ü\n".encode() + line * 400 + b"\xff\n"
    text, account, _ = read(data)
    assert text == data.replace(b"\xc3\n", b"\\xc3\n").replace(b"\xff", b"\\xff")
    assert account.bad_bytes == 2


@pytest.mark.thorough
@pytest.mark.parametrize("junk", [b"\0", b"x", b"\xff"])
def test_one_endless_line_costs_bounded_memory(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "run.log"
    with path.open("wb") as file:
        file.write(b"first\n")
        for _ in range(24):
            file.write(junk * (1 << 20))
        file.write(b"\nlast\n")
    (source,) = find_sources([path])
    tracemalloc.start()
    try:
        sizes = [len(block.text) for block in source.blocks()]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 << 20
    account = source.account
    if junk == b"\0":  # a hole, and no text
        assert (sum(sizes), account.cut_lines) == (len("first\n\nlast\n"), 0)
        return
    assert sum(sizes) == len("first\nlast\n") + LINE_CAP + 1
    assert account.cut_lines == 1
    kept = LINE_CAP if junk == b"x" else LINE_CAP // 4
    assert account.cut_bytes == (24 << 20) - kept
    assert account.bad_bytes == (0 if junk == b"x" else kept)


def test_file_that_grows_is_read_up_to_its_size_at_open(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"1\n2\n3\n")
    account = SourceAccount()
    reader = PlainFile(io.FileIO(path), "run.log")
    got = b""
    for block in read_blocks(reader, account, block_size=2):
        got += block.text
        with path.open("ab") as file:
            file.write(b"more\n")
    reader.close()
    assert got == b"1\n2\n3\n"
    assert account.problem is None
    (source,) = find_sources([path])
    assert b"".join(block.text for block in source.blocks()) == got + b"more\n" * 3


def test_file_that_is_truncated_meanwhile_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"line\n" * 10)
    account = SourceAccount()
    reader = PlainFile(io.FileIO(path), "run.log")
    blocks = read_blocks(reader, account, block_size=5)
    first = next(blocks)
    path.write_bytes(b"")
    assert (first.text, list(blocks)) == (b"line\n", [])
    assert account.problem == "the file shrank while it was being read"
    reader.close()


def test_read_error_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"line\n")

    def broken(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("tflogscope.sources.readers._read", broken)
    with io.FileIO(path) as file, pytest.raises(InputError, match=r"run\.log.*Input/output error"):
        list(read_blocks(PlainFile(file, "run.log"), SourceAccount()))


@pytest.mark.parametrize("by_position", [True, False])
def test_passes_that_share_a_place_in_a_file_may_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_position: bool
) -> None:
    if not by_position:  # as on Windows
        monkeypatch.delattr(os, "pread", raising=False)
    path = tmp_path / "run.log"
    text = b"".join(b"%07d\n" % number for number in range(20_000))
    path.write_bytes(text)
    with io.FileIO(path) as file, ThreadPoolExecutor(4) as threads:

        def read(_: int) -> bytes:
            with io.FileIO(os.dup(file.fileno())) as again:
                blocks = read_blocks(PlainFile(again, "run.log"), SourceAccount(), block_size=800)
                return b"".join(block.text for block in blocks)

        assert set(threads.map(read, range(4))) == {text}


@given(st.binary(max_size=30))
def test_text_is_the_same_when_cut_at_a_character_start(raw: bytes) -> None:
    for position in range(len(raw)):
        start = character_start(raw, position)
        assert position - 4 < start <= position
        assert escape(raw[:start]) + escape(raw[start:]) == escape(raw)


@given(st.lists(st.integers(0, 12), max_size=20), st.integers(0, 12))
def test_long_lines_finds_all_of_them(lengths: list[int], cap: int) -> None:
    text = b"".join(b"x" * length + b"\n" for length in lengths)
    found = [end - start - 1 for start, end in long_lines(text, cap)]
    assert found == [length for length in lengths if length > cap]


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\0", b"\0" * 63, b"\0" * 64, b"\0" * 200])), st.data()
)
def test_holes_are_found_however_the_input_is_cut(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=9)))
    pieces = [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]
    account = SourceAccount()
    found = list(without_holes((Chunk(each, 0, 0) for each in pieces), account))
    kept = re.sub(rb"\0{64,}", b"", whole)
    assert b"".join(chunk.data for chunk in found) == kept
    removed = len(whole) - len(kept)
    assert (account.problem or "").startswith(f"{removed:,} bytes are NUL" if removed else "")
    assert (account.problem is None) == (removed == 0)
