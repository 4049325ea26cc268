"""Makes what tflogscope would have to make at each start, when the project is built or installed.

That is the library of `tflogscope/native/scanner.c`, and `_parsed.bin`, what the files of grammars/
say (`tflogscope/grammar/load.py`). The library is compiled by the C compiler that is there; where
there is none the build asks for the package `ziglang`, a whole compiler. tools/wheels.py sets
TFLOGSCOPE_TARGET, `ZIG-TARGET WHEEL-PLATFORM`, to build for other systems than this one.
"""

from __future__ import annotations

import compileall
import marshal
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path
from typing import Any
from zlib import crc32

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path(__file__).parent / "tflogscope"
NATIVE, GRAMMAR = PACKAGE / "native", PACKAGE / "grammar"
SOURCE = NATIVE / "scanner.c"
PARSED = "_parsed.bin"
ZIG = [sys.executable, "-m", "ziglang", "cc"]


class ReadyMade(BuildHookInterface):  # type: ignore[type-arg]
    """Puts what it makes into a wheel; for an editable install, beside the sources."""

    def dependencies(self) -> list[str]:
        """What has to be installed for the build: a compiler, if none works."""
        return [] if "TFLOGSCOPE_TARGET" not in os.environ and _compiler() else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make all of it, and say what the wheel is for."""
        target, _, platform = os.environ.get("TFLOGSCOPE_TARGET", "").partition(" ")
        windows = "windows" in target if target else sys.platform == "win32"
        name = "_scanner.dll" if windows else "_scanner.so"
        if version == "editable":
            library, parsed = NATIVE / name, GRAMMAR / PARSED
            # pip compiles a wheel's modules. Where PYTHONDONTWRITEBYTECODE is set, as in many
            # images, these would be compiled at each start, which takes 100 ms.
            compileall.compile_dir(str(PACKAGE), quiet=1)
        else:
            self._folder = tempfile.mkdtemp()
            library, parsed = Path(self._folder) / name, Path(self._folder) / PARSED
            build_data["force_include"][str(library)] = f"tflogscope/native/{name}"
            build_data["force_include"][str(parsed)] = f"tflogscope/grammar/{PARSED}"
        parsed.write_bytes(parsed_grammars())
        compiler = [*ZIG, "-target", target] if target else _compiler() or ZIG
        subprocess.run(command(compiler, library), check=True)
        platform = platform or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what only the wheel needed."""
        if version != "editable":
            shutil.rmtree(self._folder)


def parsed_grammars() -> bytes:
    """What each grammar file says, by the checksum of its text."""
    texts = [file.read_bytes() for file in sorted(PACKAGE.parent.glob("grammars/**/*.toml"))]
    # Format 4: other Pythons than this one read it.
    return marshal.dumps(
        {crc32(text): marshal.dumps(tomllib.loads(text.decode()), 4) for text in texts}, 4
    )


def command(compiler: list[str], library: Path) -> list[str]:
    """How the scanner is compiled."""
    flags = ["-std=c11", "-O3", "-shared", "-fPIC", f"-DSOURCE={crc32(SOURCE.read_bytes())}u"]
    return [*compiler, *flags, str(SOURCE), "-o", str(library)]


def _compiler() -> list[str] | None:
    """The C compiler that is there, if it can compile the scanner."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if not name or not shutil.which(name.split()[0]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            tried = subprocess.run(
                command(name.split(), Path(folder) / "scanner"), capture_output=True, check=False
            )
        if tried.returncode == 0:
            return name.split()
    return None
