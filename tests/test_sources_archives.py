"""Compressed input: every format, several members, and every kind of damage."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tflogscope.sources.block import LINE_CAP, SourceAccount
from tflogscope.sources.decompress import codec_of, zstd_module
from tflogscope.sources.discover import find_sources


def compress_zstd(data: bytes) -> bytes:
    zstd = zstd_module()
    compressed: bytes = zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})
    return compressed


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": compress_zstd,
    "xz": partial(lzma.compress, preset=0),
    "bzip2": partial(bz2.compress, compresslevel=1),
}
every_format = pytest.mark.parametrize("name", COMPRESS)

random_words = random.Random(7)
TEXT = b"".join(
    b"2026-11-21 03:56:34.%06d: I tensorflow/core/common_runtime/executor.cc:841] Process node %d\n"
    % (random_words.randrange(10**6), random_words.randrange(10**4))
    for _ in range(1000)
)


@pytest.fixture
def unpack(tmp_path: Path) -> Callable[..., tuple[bytes, SourceAccount]]:
    def read(data: bytes, name: str = "run.log") -> tuple[bytes, SourceAccount]:
        path = tmp_path / name
        path.write_bytes(data)
        (source,) = find_sources([path])
        text = b"".join(block.text for block in source.blocks())
        return text, source.account

    return read


Unpack = Callable[..., tuple[bytes, SourceAccount]]


@pytest.mark.thorough
@every_format
@pytest.mark.parametrize(
    "text", [b"", b"one\n", TEXT, TEXT * 100], ids=["0", "1", "many", "blocks"]
)
def test_one_member(unpack: Unpack, name: str, text: bytes) -> None:
    got, account = unpack(COMPRESS[name](text))
    assert got == text
    assert account == SourceAccount(bytes=len(text))


@every_format
def test_members_joined_inside_a_line_with_zeros_between_and_after(
    unpack: Unpack, name: str
) -> None:
    compress = COMPRESS[name]
    archive = compress(TEXT[:1000]) + compress(b"") + bytes(200) + compress(TEXT[1000:])
    got, account = unpack(archive + bytes(70000))
    assert got == TEXT
    assert account == SourceAccount(bytes=len(TEXT))


@every_format
def test_garbage_after_the_end_is_left_out_and_said(unpack: Unpack, name: str) -> None:
    got, account = unpack(COMPRESS[name](TEXT) + b"\0\0 not an archive")
    assert got == TEXT
    assert account.problem == f"data after the end of the {name} archive was ignored"


@every_format
@pytest.mark.parametrize("suffix", ["", ".txt", ".gz", ".zst", ".xz", ".bz2"])
def test_suffix_says_nothing(unpack: Unpack, name: str, suffix: str) -> None:
    assert unpack(COMPRESS[name](TEXT), f"run.log{suffix}")[0] == TEXT
    assert unpack(TEXT, f"run.log{suffix}")[0] == TEXT


@every_format
def test_archive_that_ends_early_gives_what_is_there(unpack: Unpack, name: str) -> None:
    archive = COMPRESS[name](TEXT)
    lengths = {*range(12, 60), *range(60, len(archive) - 40, 499)}
    for length in sorted(lengths | set(range(len(archive) - 40, len(archive)))):
        got, account = unpack(archive[:length])
        whole_lines = got.rstrip(b"\n")
        assert TEXT.startswith(whole_lines), length
        assert account.problem == f"{name} archive is truncated", length
    # Only the checksum is missing from the longest: all of the text is there.
    assert got == TEXT


@every_format
def test_second_member_that_ends_early(unpack: Unpack, name: str) -> None:
    second = COMPRESS[name](b"second\n")
    got, account = unpack(COMPRESS[name](TEXT) + second[: len(second) - 2])
    assert got.startswith(TEXT)
    assert account.problem == f"{name} archive is truncated"


@pytest.mark.thorough
@every_format
def test_damage_in_the_middle_is_never_fatal(unpack: Unpack, name: str) -> None:
    archive = COMPRESS[name](TEXT)
    problems = 0
    for place in range(16, len(archive), max(1, len(archive) // 20)):
        damaged = bytearray(archive)
        damaged[place] ^= 0x55
        _, account = unpack(bytes(damaged))
        problems += account.problem is not None
    # A bit of a header may mean nothing (gzip's time stamp), the rest is under a checksum.
    assert problems >= 19


@pytest.mark.parametrize("name", ["gzip", "zstd"])
@pytest.mark.parametrize("text", [TEXT, b"the same line\n" * 250_000], ids=["short", "dense"])
def test_wrong_checksum_costs_no_text(unpack: Unpack, name: str, text: bytes) -> None:
    archive = bytearray(COMPRESS[name](text))
    archive[-8 if name == "gzip" else -1] ^= 1
    got, account = unpack(bytes(archive))
    assert got == text
    assert account.problem is not None
    assert account.problem.startswith(f"{name} archive is damaged: ")


@pytest.mark.parametrize("more", [1, 100, 258, 300])
def test_gzip_without_its_trailer_gives_all_text(unpack: Unpack, more: int) -> None:
    text = b"x" * 999 + b"\n" + b"y" * ((1 << 20) - 1000 + more)
    got, account = unpack(gzip.compress(text)[:-8])
    assert got == text + b"\n"
    assert account.problem == "gzip archive is truncated"


@pytest.mark.thorough
@every_format
def test_damage_late_in_a_large_archive_keeps_what_comes_before(unpack: Unpack, name: str) -> None:
    noise = random.Random(1).randbytes(1 << 20).hex().encode()
    text = b"".join(noise[at : at + 99] + b"\n" for at in range(0, len(noise), 99))
    archive = bytearray(COMPRESS[name](text))
    place = len(archive) * 9 // 10
    archive[place : place + 64] = bytes(64)
    got, account = unpack(bytes(archive))
    assert account.problem is not None
    same = next(
        (at for at in range(0, len(text), 100) if got[at : at + 100] != text[at : at + 100]),
        len(text),
    )
    # Blocks come whole or not at all: 900 kB in bzip2, 128 KiB in zstd.
    assert same > len(text) * {"bzip2": 0.8, "zstd": 0.82}.get(name, 0.88)


def test_zstd_skippable_frames(unpack: Unpack) -> None:
    skippable = b"\x53\x2a\x4d\x18" + struct.pack("<I", 5) + b"12345"
    archive = skippable + compress_zstd(b"a\n") + skippable + compress_zstd(b"b\n") + skippable
    got, account = unpack(archive)
    assert got == b"a\nb\n"
    assert account.problem is None


def test_gzip_header_with_all_fields(unpack: Unpack) -> None:
    deflate = zlib.compressobj(wbits=-15)
    body = deflate.compress(TEXT) + deflate.flush()
    header = b"\x1f\x8b\x08\x1e" + bytes(6) + struct.pack("<H", 3) + b"xyz" + b"run.log\0note\0"
    header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
    got, account = unpack(header + body + struct.pack("<II", zlib.crc32(TEXT), len(TEXT)))
    assert got == TEXT
    assert account.problem is None


def test_archive_that_asks_for_too_much_memory_is_damaged(unpack: Unpack) -> None:
    big = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    _, account = unpack(lzma.compress(b"x\n", filters=big))
    assert account.problem is not None
    assert "xz archive is damaged" in account.problem


@pytest.mark.thorough
@every_format
@pytest.mark.parametrize("filler", [b"\0", b"x"])
def test_bomb_costs_bounded_memory(tmp_path: Path, name: str, filler: bytes) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(COMPRESS[name](filler * (48 << 20)))
    (source,) = find_sources([path])
    tracemalloc.start()
    try:
        sizes = [len(block.text) for block in source.blocks()]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    is_hole = filler == b"\0"  # NULs in a row are no text
    assert sizes == ([] if is_hole else [LINE_CAP + 1])
    assert source.account.bytes == 48 << 20
    assert source.account.cut_lines == (not is_hole)
    assert peak < 40 << 20


EMPTY = {
    "gzip": gzip.compress(b"", mtime=0),
    "bzip2": bz2.compress(b""),
    "xz": lzma.compress(b""),
    "zstd": b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00",
    "zstd, skippable": b"\x50\x2a\x4d\x18\0\0\0\0",
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_bomb_of_empty_members_is_left_out_and_said(tmp_path: Path, name: str) -> None:
    """Each costs some µs for a few bytes: 1 MB of them took up to half a minute."""
    path = tmp_path / "bomb"
    text = gzip.compress(b"x\n") if name == "gzip" else b""
    path.write_bytes(text + EMPTY[name] * 1200 + text)
    (source,) = find_sources([path])
    blocks = b"".join(block.text for block in source.blocks())
    assert blocks == (b"x\n" if text else b"")
    assert "data after 1,000 empty parts" in (source.account.problem or "")
    path.write_bytes(EMPTY[name] * 900)
    (source,) = find_sources([path])
    assert not list(source.blocks())
    assert source.account.problem is None


@every_format
def test_encodings_inside_archives(unpack: Unpack, name: str) -> None:
    words = "Größe €\r\n" * 3000
    assert unpack(COMPRESS[name](words.encode("utf-16")))[0].decode() == words.replace("\r", "")
    assert unpack(COMPRESS[name](words.encode("utf-8-sig")))[0].decode() == words.replace("\r", "")


@pytest.mark.thorough
@every_format
def test_second_pass_and_positions(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(COMPRESS[name](TEXT * 60))
    (source,) = find_sources([path])
    first = list(source.blocks())
    assert list(source.blocks()) == first
    assert len(first) > 1
    assert source.size == path.stat().st_size == first[-1].position
    assert first[-1].raw_bytes == len(TEXT) * 60


@pytest.mark.thorough
@every_format
def test_passes_at_once_do_not_disturb_each_other(tmp_path: Path, name: str) -> None:
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    for path, text in zip(paths, (TEXT * 60, TEXT.upper() * 60), strict=True):
        path.write_bytes(COMPRESS[name](text))
    alone = [[block.text for block in source.blocks()] for source in find_sources(paths)]
    at_once = zip(*(source.blocks() for source in find_sources(paths)), strict=True)
    both = [[block.text for block in pair] for pair in at_once]
    assert len(both) > 1
    assert [*map(list, zip(*both, strict=True))] == alone


@pytest.mark.parametrize("head", [b"", b"BZh9", b"BZh9 is how a line may begin\n", b"\x1f", b"PK"])
def test_what_is_no_archive(head: bytes) -> None:
    assert codec_of(head) is None
