"""Build the wheel for every platform with one compiler, zig.

usage: python tools/wheels.py [DIRECTORY [PLATFORM...]]    (dist, all; needs ziglang and hatchling)

A wheel holds no Python extension, only a library that ctypes loads: `py3-none-PLATFORM`. What is in
each is looked at by tests/test_wheels.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
# glibc 2.17 is what manylinux2014 promises; older musl than 1.2 is not supported by zig.
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
    "win_arm64": "aarch64-windows-gnu",
}


def build(directory: Path, platforms: Iterable[str]) -> None:
    """Build wheels into a directory."""
    for platform in platforms:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory.resolve()],
            cwd=ROOT,
            env=os.environ | {"TFLOGSCOPE_TARGET": f"{TARGETS[platform]} {platform}"},
            check=True,
        )


if __name__ == "__main__":
    folder, *asked = sys.argv[1:] or [ROOT / "dist"]
    build(Path(folder), map(str, asked or TARGETS))
