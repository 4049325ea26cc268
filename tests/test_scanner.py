"""The compiled scanner against its twin in plain Python, which is its specification."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.colliding import colliding
from tests.deep import examples
from tests.mutations import KINDS
from tests.samples import UNLIKE, path_of, raw_log
from tests.twin import Twin
from tflogscope.events.events import Events
from tflogscope.events.scan import Scan
from tflogscope.events.store import texts_of
from tflogscope.grammar.compiled import compile_grammar
from tflogscope.grammar.load import load_grammar
from tflogscope.sources.lines import read_blocks
from tflogscope.sources.source import Source

GRAMMAR = load_grammar()


def scanned(path: Path) -> Scan:
    return Scan([Source(str(path))], GRAMMAR).wait()


def rows_of(scan: Scan, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of a table with their strings in the place of numbers."""
    store = scan.store
    texts = {
        name: [*(each.encode() for each in texts_of(store, name)), None]
        for name in ("clocks", "sites", table)
    }
    of = {"clock": "clocks", "site": "sites", "text": table}
    found = []
    for name in columns:
        values = store.column(table, name).tolist()
        if name in of:
            values = [texts[of[name]][min(value, len(texts[of[name]]) - 1)] for value in values]
        found.append(values)
    return list(zip(*found, strict=True))


def agree(path: Path) -> Twin:
    """Hold the scan of a file to the twin's of the same text."""
    text = b"".join(block.text for block in Source(str(path)).blocks())
    twin, scan = Twin(GRAMMAR, text), scanned(path)
    (span,) = scan.spans
    names = ["blank", "continuation", "ignored", "cold", *scan.grammar.messages]
    classes: Counter[str] = Counter()
    for name, count in zip(names, span.classes, strict=True):
        classes[name] += count
    assert +classes == twin.classes
    assert (span.lines, span.torn) == (len(twin.lines), twin.torn)
    dialects = dict(
        zip((prefix.id for prefix in scan.grammar.dialects), span.dialects, strict=False)
    )
    assert +Counter(dialects) == +twin.dialects
    assert rows_of(scan, "before", "at", "text") == twin.rows["before"]
    assert rows_of(scan, "failures", "at", "text") == twin.rows["failures"]
    files = [scan.grammar.files[tag] for tag in scan.store.entries("texts")["tag"].tolist()]
    codes = scan.store.column("texts", "text").tolist()
    mine = rows_of(scan, "texts", "at", "clock", "micros", "site", "text")
    assert [(*row[:4], files[code], row[4]) for row, code in zip(mine, codes, strict=True)] == [
        (at, clock, micros or 0, *rest) for at, clock, micros, *rest in twin.rows["texts"]
    ]
    columns = ("at", "clock", "micros", "site", "number", "text")
    starts = [(row[0], *row[3:]) for row in twin.rows["nodes"] if row[1] == "start"]
    assert rows_of(scan, "nodes", *columns) == starts
    assert rows_of(scan, "tensors", "at", "number", "text") == [
        (row[0], *row[6:]) for row in twin.rows["tensors"]
    ]
    fields, texts = scan.store.fields().tolist(), texts_of(scan.store, "verbose").to_list()
    lines = []
    for at, first, number in zip(
        *(scan.store.column("verbose", each).tolist() for each in ("at", "text", "number")),
        strict=True,
    ):
        count = number & 0xFFFF
        lines.append(
            (at, number - count, *(texts[i].encode() for i in fields[first : first + count]))
        )
    assert lines == twin.rows["verbose"]
    runs = Events(scan, GRAMMAR).runs
    ends = dict(runs.drop_nulls("end_at").select("at", "end_at").rows())
    assert ends == twin.ends()
    return twin


@pytest.mark.thorough
@pytest.mark.parametrize("name", UNLIKE)
def test_real_logs(name: str) -> None:
    assert agree(path_of(name)).rows


# ---- logs made to do harm ------------------------------------------------------------------------

PROCESS = (
    "2026-11-21 03:57:31.425431: I tensorflow/core/common_runtime/executor.cc:841] Process node: "
    '7 step 5 {{{{node {}}}}} = NoOp[_device="CPU:0"]() device: CPU:0\n'
)
DONE = PROCESS.replace("Process node", "Synchronous kernel done").replace("841", "1074")


def test_no_log_can_be_made_for_the_hash(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    fields = colliding(200, bytes(set(range(33, 127)) - {ord(",")}))
    log.write_text("".join(f"onednn_verbose,exec,{field}\n" for field in fields))
    hashes = scanned(log).store.entries("verbose")["hash"]
    assert len(set(hashes.tolist())) == len(hashes) == len(fields) + 2


@pytest.mark.thorough
def test_each_process_hashes_in_its_own_way(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("onednn_verbose,exec\n")
    program = "import sys; from pathlib import Path; from tests.test_scanner import scanned\n"
    program += "print(scanned(Path(sys.argv[1])).store.entries('verbose')['hash'])"
    command = [sys.executable, "-c", program, str(log)]
    assert len({subprocess.check_output(command) for _ in range(2)}) == 2


def test_an_end_is_not_of_a_node_with_another_name(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    one, other = colliding(2)
    log.write_text(PROCESS.format(one) + DONE.format(other))
    assert agree(log).ends() == {}
    log.write_text(PROCESS.format(one) + DONE.format(one))
    assert agree(log).ends() == {0: 16}


# ---- made logs -----------------------------------------------------------------------------------

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
PREFIXES = (
    "2026-11-21 03:57:31.425431: I tensorflow/core/common_runtime/{}:841] ",
    "2026-02-30 03:57:31.425431: W    9790 ./tensorflow/x/{}:7] ",
    "2026-1x-21 03:57:31.425431: I {}:12] ",
    "I0000 00:00:1795235654.536611   31007 {}:879] ",
    "E1121 03:58:48.300255 139665401 {}:156] ",
    "I0000 00:00:1795235654.536611 99999999999999999999 {}:1] ",
    "2026-11-21 03:57:31.42543: I {}:841] ",
    "2026-11-21 03:57:31.425431: I no file] ",
)
FILES = ("executor.cc", "log_memory.cc", "execute.cc", "unknown_file.cc", "a/b\\executor.cc")
DEFINITION = '{{node a/MatMul}} = _MklMatMul[T=DT_FLOAT, _device="' + CPU + '"](x, y)'
NUMBERS = ("0", "7", "-1", "-5460978569205703007", "9223372036854775807", "9223372036854775808")
MESSAGES = st.one_of(
    st.builds(
        "{}{} step {} {}{} device: {}".format,
        st.sampled_from(("Process node: ", "Synchronous kernel done: ", "Async kernel done: ")),
        st.sampled_from(("3", "12", "00000000000000000003", "x", "")),
        st.sampled_from(NUMBERS),
        st.sampled_from((DEFINITION, "{{node b}} = Const[]()", "{{node cut", "{{node c}} = X[](")),
        st.sampled_from(("", " is dead", " is dead: ")),
        st.sampled_from((CPU, "/device:CPU:0", "", "CPU:0 and more")),
    ),
    st.builds(
        "__LOG_MEMORY__ MemoryLogTensorOutput {{ step_id: {} kernel_name: {} {}".format,
        st.sampled_from(NUMBERS),
        st.sampled_from(('"a" tensor { } allocation_description { ptr: 1 }', '"a" tensor {', "")),
        st.sampled_from(("}", "} }", "", "}x")),
    ),
    st.just('__LOG_MEMORY__ MemoryLogRawDeallocation { step_id: -3 operation: "x" }'),
    st.just("Executing op MatMul in device " + CPU),
    st.sampled_from(("", " ", "]", "é", "\x1b[0m", "some text, with commas,,", "] ] a:1] ")),
)
LINES = st.sampled_from(
    (
        "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0,,,4x32,0.046875",
        "onednn_verbose,v1,1795234892507.741943,primitive,exec,cpu," + "a," * 40,
        "dnnl_verbose,info,oneDNN v2.2.0 (commit N/A)",
        "MKL_VERBOSE SGEMM(T,N,75,75,64) 969.47us CNR:OFF",
        "WARNING:tensorflow:5 out of the last 5 calls",
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
        "\t [[{{node MatMul}}]]",
        "\t [[{{function_node __inference_f_7}}{{node MatMul}}]]",
        "  tensor { dtype: DT_FLOAT }",
        "\x1b[32mcolour\x1b[0m",
        "\x1b[0m",
        "01611332026-",
    )
)
RECORDS = st.builds(
    lambda prefix, file, message: prefix.format(file) + message,
    st.sampled_from(PREFIXES),
    st.sampled_from(FILES),
    MESSAGES,
)
PIECES = st.one_of(
    RECORDS, MESSAGES, LINES, st.sampled_from(("\n", "\n\n", "\x1b[1;31m", "0.0161133"))
)
LOGS = st.lists(
    st.tuples(PIECES, st.sampled_from(("\n", "\n", "\n", "", "\x1b[0m\n"))), max_size=40
)


@pytest.mark.thorough
@given(pieces=LOGS, cut=st.integers(0, 60), block_size=st.sampled_from((1, 9, 150, 700, 1 << 20)))
@settings(max_examples=examples(100))
def test_made_logs(
    pieces: list[tuple[str, str]], cut: int, block_size: int, tmp_path: Path
) -> None:
    """Records, pieces of records, and other lines, glued in any way, in blocks of any size."""
    text = "".join(piece + end for piece, end in pieces).encode()
    (tmp_path / "run.log").write_bytes(text[: max(0, len(text) - cut)])
    with pytest.MonkeyPatch.context() as patch:
        small = partial(read_blocks, block_size=block_size)
        patch.setattr("tflogscope.sources.source.read_blocks", small)
        agree(tmp_path / "run.log")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_damaged_logs(kind: str, tmp_path: Path) -> None:
    for seed, name in enumerate(
        ("function_mlp__tf2.13.1__vlog2", "python_threads__tf2.21.0__vlog2")
    ):
        damaged = KINDS[kind](raw_log(name)[:300_000], Random(seed))
        (tmp_path / "run.log").write_bytes(damaged)
        agree(tmp_path / "run.log")


@pytest.mark.parametrize("name", ["function_mlp__tf2.13.1__vlog2", "bf16__tf2.10.1__vlog2"])
def test_anchors_of_other_writers_text_are_rare(name: str) -> None:
    """Where a record has one, each byte of it is looked at for each needle: `shape {` had."""
    tables = compile_grammar(GRAMMAR).tables
    messages = [line[40:] for line in raw_log(name).splitlines()]
    for anchor in tables.anchors[: tables.anchor_count]:
        one, two, three = (bytes([byte]) for byte in anchor.bytes[:3])
        gaps = (anchor.second - 1, anchor.third - anchor.second - 1)
        pattern = re.compile(
            re.escape(one) + b".{%d}" % gaps[0] + re.escape(two) + b".{%d}" % gaps[1]
            + re.escape(three)
        )  # fmt: skip
        hits = sum(bool(pattern.search(each)) for each in messages if b"_verbose," not in each)
        assert hits < len(messages) / 200, pattern


def test_a_full_output_is_scanned_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that holds more than there is room for is scanned in several parts."""
    from tflogscope.events import scan, store

    monkeypatch.setattr(scan, "BlockOutput", lambda grammar: store.BlockOutput(grammar, 32, 1024))
    agree(path_of("py_function__tf2.13.1__vlog2"))


def test_blank_lines_are_counted_without_a_look_at_the_grammar() -> None:
    """1 GB of line feeds took minutes. Here is no grammar, and a look at it ends the process."""
    program = """
from ctypes import byref
from tflogscope.events.store import BlockOutput
from tflogscope.grammar.compiled import compile_grammar
from tflogscope.grammar.load import load_grammar
from tflogscope.native.library import BLANK, library

compiled = compile_grammar(load_grammar())
compiled.tables.steps = compiled.tables.dialects = None
output, text = BlockOutput(compiled), b"\\n" * 1000
library().tflogscope_scan(byref(compiled.tables), text, 1000, 0, 1000, 0, byref(output.raw))
print(output.raw.lines, output.raw.classes[BLANK])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"1000 1000\n")


@pytest.mark.thorough
def test_a_scan_is_under_way_before_polars_is_imported() -> None:
    """The import takes as long as 100 MB do."""
    program = """
import sys
from tflogscope.cli.main import main
from tflogscope.events.scan import Scan

begin = Scan.__init__

def begin_and_look(*arguments):
    print(sorted({"polars", "numpy"} & sys.modules.keys()), file=sys.stderr)
    begin(*arguments)

Scan.__init__ = begin_and_look
main(["analyze", sys.argv[1]])
"""
    path = str(path_of("py_function__tf2.13.1__vlog2"))
    ended = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert ended.stderr == "[]\n"
