"""What is in the wheels that tools/wheels.py builds: the right library for each platform.

They are built by `.ci/run`, for that takes a compiler of 100 MB; TFLOGSCOPE_WHEELS says where.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
from pathlib import Path

import pytest

from tflogscope.native import library
from tools.wheels import TARGETS

FOLDER = Path(os.environ.get("TFLOGSCOPE_WHEELS", ""))
pytestmark = pytest.mark.skipif(
    "TFLOGSCOPE_WHEELS" not in os.environ, reason="no wheels were built: see tools/wheels.py"
)
SYMBOLS = [b"tflogscope_scan", b"tflogscope_settle", b"tflogscope_index", b"tflogscope_move"]
SYMBOLS += [b"tflogscope_is_plain", b"tflogscope_source"]
ELF = {"x86_64": 62, "aarch64": 183}  # e_machine
MACH_O = {"x86_64": 0x01000007, "arm64": 0x0100000C}  # cputype
PE = {"amd64": 0x8664, "arm64": 0xAA64}  # Machine


def content(platform: str) -> dict[str, bytes]:
    found = [*FOLDER.glob(f"tflogscope-*-py3-none-{platform}.whl")]
    if platform.startswith("win") and not found:
        pytest.skip("zig makes a C library first, for minutes: `.ci/run` builds none for Windows")
    (path,) = found
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


@pytest.mark.parametrize("platform", TARGETS)
def test_a_wheel_has_the_library_of_its_platform(platform: str) -> None:
    files = content(platform)
    name = "_scanner.dll" if platform.startswith("win") else "_scanner.so"
    binary = files[f"tflogscope/native/{name}"]
    assert [each for each in files if "_scanner." in each] == [f"tflogscope/native/{name}"]
    machine = platform.rpartition("_")[2] if "win" in platform else platform.rsplit("_", 2)[-1]
    if "linux" in platform:
        machine = "x86_64" if platform.endswith("x86_64") else "aarch64"
        assert binary[:4] == b"\x7fELF"
        assert struct.unpack_from("<H", binary, 18)[0] == ELF[machine]
    elif platform.startswith("macosx"):
        machine = "x86_64" if platform.endswith("x86_64") else "arm64"
        magic, kind = struct.unpack_from("<II", binary)
        assert (magic, kind) == (0xFEEDFACF, MACH_O[machine])
    else:
        (header,) = struct.unpack_from("<I", binary, 0x3C)
        assert binary[header : header + 4] == b"PE\0\0"
        assert struct.unpack_from("<H", binary, header + 4)[0] == PE[machine]
    for symbol in SYMBOLS:
        assert symbol in binary, symbol


@pytest.mark.parametrize("platform", TARGETS)
def test_a_wheel_says_what_it_is_for_and_holds_the_grammar(platform: str) -> None:
    files = content(platform)
    (about,) = (text.decode() for name, text in files.items() if name.endswith("/WHEEL"))
    assert f"Tag: py3-none-{platform}\n" in about.replace("\r", "")
    assert "Root-Is-Purelib: false" in about
    assert "tflogscope/_grammars/prefixes.toml" in files
    assert files[f"tflogscope/native/{library.SOURCE}"].startswith(b"/* The scanner")


@pytest.mark.parametrize("platform", [each for each in TARGETS if each.startswith("manylinux")])
def test_a_manylinux_wheel_needs_no_newer_glibc(platform: str) -> None:
    binary = content(platform)["tflogscope/native/_scanner.so"]
    versions = [
        tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_(\d+\.\d+)", binary)
    ]
    assert max(versions, default=(0, 0)) <= (2, 17)
