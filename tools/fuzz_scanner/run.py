"""The compiled scanner under sanitizers, which see every step across an edge and every overflow.

python tools/fuzz_scanner/run.py                    sample logs of each kind, and mutations of them
python tools/fuzz_scanner/run.py SECONDS [WORK]     libFuzzer (needs clang), in .fuzz/scanner

libFuzzer goes on from WORK/corpus, and leaves what fails in WORK. What is mended is kept in
tools/fuzz_scanner/kept, and is run with the sample logs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

MUTATIONS = 3  # logs, the smallest ones
MOST = 1 << 20  # bytes of a sample log, the last ones, in which steps run
EXCERPT = 2500  # bytes of a log that libFuzzer begins with
LONGEST = 3000  # bytes of an input


def main() -> int:
    """Read the command line; return the exit code."""
    if len(sys.argv) == 1:
        with tempfile.TemporaryDirectory() as folder:
            return on_files(Path(folder))
    work = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / ".fuzz" / "scanner"
    return fuzz(int(sys.argv[1]), work)


def build(work: Path, name: str, *flags: str) -> Path:
    """Compile scanner.c of this folder, with the tables of the grammar."""
    from tools.fuzz_scanner.tables import tables_as_c

    (work / "tables.h").write_text(tables_as_c())
    compiler = os.environ.get("CC") or ("clang" if shutil.which("clang") else "cc")
    options = ["-std=c11", "-O1", "-g", f"-I{work}", "-fno-sanitize-recover=all"]
    command = [compiler, *options, *flags, str(HERE / "scanner.c"), "-o", str(work / name)]
    subprocess.run(command, check=True)
    return work / name


def on_files(work: Path) -> int:
    """Scan sample logs, mutations of them, and what was found before."""
    program = build(work, "files", "-DFILES", "-fsanitize=address,undefined")
    files = [*(HERE / "kept").glob("*"), *_written(work)]
    return subprocess.run([program, *files], check=False).returncode


def _written(work: Path) -> Iterator[Path]:
    from tests.mutations import KINDS
    from tests.samples import UNLIKE, raw_log

    logs = {name: raw_log(name)[-MOST:] for name in UNLIKE}
    for name, text in logs.items():
        (work / name).write_bytes(text)
        yield work / name
    smallest = sorted(logs.values(), key=len)[:MUTATIONS]
    for number, text in enumerate(smallest):
        for name, change in KINDS.items():
            if name == "long_line":  # 30 MB: the sources cut it before the scanner sees it
                continue
            path = work / f"{number}.{name}"
            path.write_bytes(change(text, Random(number)))  # noqa: S311 (a seed)
            yield path


def fuzz(seconds: int, work: Path) -> int:
    """Run libFuzzer for so long."""
    from tests.samples import NAMES, raw_log

    corpus = work / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        text = raw_log(name)
        begin = text.find(b"\n", Random(name).randrange(len(text))) + 1  # noqa: S311 (a seed)
        (corpus / name).write_bytes(b"\0\x80" + text[begin : begin + EXCERPT])
    program = build(work, "fuzzer", "-fsanitize=fuzzer,address,undefined")
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-print_final_stats=1"]
    options += [f"-dict={HERE / 'words'}", f"-artifact_prefix={work}/"]
    return subprocess.run([program, *options, corpus], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
