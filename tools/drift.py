"""Say what a release of TensorFlow changes for `grammars/`, from its wheel, without running it.

    python tools/drift.py tensorflow_cpu-2.22.0rc0-….whl [--against tensorflow_cpu-2.20.0-….whl]

Each literal text of a message in `grammars/tensorflow` is searched in the read-only data of the
wheel's libraries, each kernel of `grammars/onednn` as a string of its own. What isn't there is
printed. Some texts are put together of pieces, so they are in no release as they are written; with
an older wheel to compare with, only what the older one has counts, and the exit code is 1 if
something is gone. Then texts are printed that look new: the compiler keeps the texts of a source
file together, so they are those beside texts that are known.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tflogscope.grammar.onednn_ops import OPS
from tflogscope.grammar.template import Choice, Literal, OptionalPart, Token, parse_template

ROOT = Path(__file__).parent.parent

_LIBRARY = re.compile(
    r"(?:libtensorflow_(?:cc|framework)|_pywrap_tensorflow\w*|python/\w+).*\.so[.\d]*$"
)
# Where texts of several functions and macros meet: FormatNodeForError, DebugString of a protocol
# buffer.
_JOINTS = re.compile(r"[\n{}\[\]()'\":]|\. |, | op device| def$|goo\.gle/|/debug\w*")
_LEAST = 6  # characters: shorter texts are anywhere
_BESIDE = 200  # bytes before and after a known text that are of the same source file
_PROSE = re.compile(rb"(?<=\0)[A-Z][a-z]+ [^:;(){}<>\0-\x1f]{8,}")  # what a log may say


class Wheel:
    """The read-only data of the libraries of a wheel."""

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path)
        names = self._archive.namelist()
        libraries = [name for name in names if _LIBRARY.search(name)]
        self.texts = [self._read_only(name) for name in libraries]

    def _read_only(self, name: str) -> bytes:
        """The `.rodata` of a library: ELF, 64 bits, little-endian."""
        library = self._archive.read(name)
        if library[:6] != b"\x7fELF\x02\x01":
            return b""
        (table,) = struct.unpack_from("<Q", library, 0x28)
        size, count, names = struct.unpack_from("<HHH", library, 0x3A)
        sections = [struct.unpack_from("<IIQQQQ", library, table + size * n) for n in range(count)]
        strings = sections[names][4]
        found = []
        for section in sections:
            start = strings + section[0]
            if library[start : library.index(b"\0", start)].startswith(b".rodata"):
                found.append(library[section[4] : section[4] + section[5]])
        return b"\0".join(found)

    def has(self, text: str) -> bool:
        """Whether a text is in a library."""
        return any(text.encode() in each for each in self.texts)

    def has_name(self, name: str) -> bool:
        """Whether a name is a string of its own."""
        return any(f"{name}\0".encode() in each for each in self.texts)

    def beside(self, texts: Iterable[str]) -> Iterator[str]:
        """What is written beside texts of which there is one only."""
        for text in (each.encode() for each in texts if " " in each):
            for each in self.texts:
                if each.count(text) == 1:
                    at = each.index(text)
                    around = each[max(at - _BESIDE, 0) : at + len(text) + _BESIDE]
                    yield from (found.decode() for found in _PROSE.findall(around))


def literals(tokens: Iterable[Token]) -> Iterator[str]:
    """The literal texts of a template, those that say something."""
    for token in tokens:
        if isinstance(token, Literal):
            yield from (part for part in _JOINTS.split(token.text) if len(part.strip()) >= _LEAST)
        elif isinstance(token, OptionalPart):
            yield from literals(token.tokens)
        elif isinstance(token, Choice):
            for part in token.parts:
                yield from literals(part)


def messages(release: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """What a release should have: a message and its source, a text."""
    for file in sorted((ROOT / "grammars" / "tensorflow").glob("*.toml")):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        for message in content.get("message", ()):
            since, until = (_numbers(message.get(key, "")) for key in ("since", "until"))
            if release[:2] < since or (until and release[:2] > until):
                continue
            source = str(message.get("source", content["source"]))
            for text in literals(parse_template(message["text"], "")):
                yield f"{message['id']}, {source}", text


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release)[:2])


def kernels() -> list[str]:
    """The kernels that TensorFlow registers for ops of oneDNN."""
    known = [op.name for op in OPS.values() if op.has_kernel or op.eager]
    return [name if name.startswith("_") else f"_Mkl{name}" for name in known]


def main() -> int:
    """Print what is gone, and what looks new."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--against", type=Path, help="the wheel of an older release")
    asked = parser.parse_args()
    wheel = Wheel(asked.wheel)
    older = Wheel(asked.against) if asked.against else None
    known = list(messages(_numbers(asked.wheel.name.split("-")[1])))
    gone = [
        f"{where}: {text!r}"
        for where, text in known
        if not wheel.has(text) and (older is None or older.has(text))
    ]
    gone += [
        f"{name}, grammars/onednn/ops.toml"
        for name in kernels()
        if not wheel.has_name(name) and (older is None or older.has_name(name))
    ]
    what = "not there as they are written" if older is None else "gone"
    print(f"{asked.wheel.name}: {len(known)} texts, {len(kernels())} kernels, {len(gone)} {what}")
    print("\n".join(f"  {each}" for each in gone))
    if older is not None:
        beside = set(wheel.beside({text for _, text in known}))
        new = sorted(text for text in beside if not older.has(text))
        print(f"{len(new)} texts beside known ones look new")
        print("\n".join(f"  {each}" for each in new))
    return 1 if gone and older else 0


if __name__ == "__main__":
    sys.exit(main())
