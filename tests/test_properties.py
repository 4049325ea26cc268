"""What holds for any log: nothing is lost, and how a log is stored does not change its tables."""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.deep import examples
from tests.makelog import ADD, MATMUL, RETVAL, SOURCE, Log, Node, X
from tests.mutations import KINDS, mutated
from tests.samples import path_of, raw_log, run_of
from tflogscope import Run, open_log
from tflogscope.errors import NothingRecognised

pytestmark = pytest.mark.thorough

QUICK = settings(max_examples=examples(20))
BUCKETS = ("recognised", "ignored", "unknown", "continuation", "blank")
TABLES = ("timeline", "ops", "functions", "nodes", "rewrites", "primitives")
SMALL = ["eager_basics__tf2.8.4__vlog2", "python_threads__tf2.13.1__vlog2"]
GEMM = (
    "onednn_verbose,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
    "dst_f32::blocked:ab:f0,,64x64:64x64,0.0161133"
)


def opened(tmp_path: Path, *parts: bytes) -> Run:
    """A log in several parts."""
    paths = []
    for number, part in enumerate(parts):
        paths.append(tmp_path / f"part{number:03}")
        paths[-1].write_bytes(part)
    return open_log(*paths)


def same(one: Run, other: Run, *, without: tuple[str, ...] = ("source",)) -> None:
    """Both runs have the same tables, but for these columns."""
    for name in TABLES:
        left, right = (getattr(run, name).drop(*without, strict=False) for run in (one, other))
        assert left.equals(right), (name, left, right)


# ---- nothing is lost ----------------------------------------------------------------------------


@given(st.sampled_from(SMALL), st.sampled_from(sorted(set(KINDS) - {"long_line"})), st.integers())
@QUICK
def test_every_line_is_in_one_bucket_of_any_log(
    tmp_path: Path, name: str, kind: str, seed: int
) -> None:
    log = mutated(raw_log(name), kind, seed)
    try:
        run = opened(tmp_path, log)
    except NothingRecognised:
        return
    row = run.coverage.to_dicts()[0]
    assert row["lines"] == log.count(b"\n") + (not log.endswith(b"\n"))
    assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]
    assert row["bytes"] == len(log)


PIECES = st.lists(
    st.sampled_from(["start", "done", "torn start", "print", "blank", "verbose", "eager", "C"]),
    min_size=1,
    max_size=40,
)


@given(PIECES, st.sampled_from(["classic", "tid", "absl"]))
@QUICK
def test_every_start_is_a_row_wherever_it_stands(
    tmp_path: Path, pieces: list[str], dialect: str
) -> None:
    log = Log(dialect)  # type: ignore[arg-type]
    starts, eager = [], []
    for piece in pieces:
        if piece == "start":
            starts.append(log.start(MATMUL, -9))
        elif piece == "done":
            log.done(MATMUL, -9)
        elif piece == "torn start":
            starts.append(log.start(ADD, -9))
            log.lines[-1] = GEMM + log.lines[-1]
        elif piece == "C":
            starts.append(log.start(ADD, -9))
            log.lines[-1] += GEMM
        elif piece == "eager":
            eager.append(log.executing("Mul"))
        else:
            log.raw({"print": "epoch 1/2", "blank": "", "verbose": GEMM}[piece])
    try:
        run = opened(tmp_path, log.text().encode())
    except NothingRecognised:
        assert not {*pieces} - {"print", "blank"}
        return
    rows = run.timeline
    assert rows.filter(mode="graph")["line"].to_list() == starts
    assert rows.filter(mode="eager")["line"].to_list() == eager
    ended = rows.filter(pl.col("end_line").is_not_null() & (pl.col("mode") == "graph"))
    assert ended.height <= min(pieces.count("start"), pieces.count("done"))
    assert ended["end_line"].n_unique() == ended.height
    row = run.coverage.to_dicts()[0]
    assert row["torn"] == pieces.count("torn start") + pieces.count("C")
    assert row["unknown"] == 0
    assert row["blank"] == pieces.count("blank")
    assert row["continuation"] == pieces.count("print")


# Functions may have nodes in common, or be the same but for their names.
BODIES = st.fixed_dictionaries(
    {name: st.lists(st.sampled_from([X, MATMUL, ADD, RETVAL]), min_size=1) for name in "fgh"}
)


@given(st.text("fgh", min_size=1, max_size=8), BODIES)
@QUICK
def test_rows_of_any_sequence_of_calls_belong_to_their_calls(
    tmp_path: Path, calls: str, bodies: dict[str, list[Node]]
) -> None:
    """With one call at a time there is no doubt."""
    log = Log()
    handles: dict[str, int] = {}
    expected = []
    for number, letter in enumerate(calls):
        function = f"__inference_{letter}_{'fgh'.index(letter)}"
        new = letter not in handles
        handle = handles.setdefault(letter, 2 * len(handles))
        call = log.first_call if new else log.call
        _, rows = call(function, handle, -100 + number, *bodies[letter])
        expected += [(row, letter, number) for row in rows]
    run = opened(tmp_path, log.text().encode())
    graph = run.timeline.filter(mode="graph")
    assert graph.select("line", "function", "call").rows() == expected
    counts = run.functions.select("function", "calls").rows()
    assert sorted(counts) == sorted((letter, calls.count(letter)) for letter in handles)


# ---- how it is stored does not matter -----------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
@given(data=st.data())
@settings(QUICK, max_examples=examples(5))
def test_a_log_in_several_files(tmp_path: Path, name: str, data: st.DataObject) -> None:
    lines = raw_log(name).splitlines(keepends=True)
    borders = data.draw(st.lists(st.integers(0, len(lines)), max_size=4).map(sorted))
    edges = [0, *borders, len(lines)]
    parts = [b"".join(lines[a:b]) for a, b in itertools.pairwise(edges)]
    run = opened(tmp_path, *parts)
    whole = run_of(name)
    # Lines are numbered in each file; first lines of groups may lie in any of them.
    numbered = "source line end_line first_line instantiated_line timeline_line onednn_version"
    same(run, whole, without=tuple(numbered.split()))
    firsts = dict(zip(run.coverage["source"], edges, strict=False))
    at = run.timeline["line"] + run.timeline["source"].replace_strict(
        firsts, return_dtype=pl.UInt64
    )
    assert at.to_list() == whole.timeline["line"].to_list()
    assert run.coverage["lines"].sum() == whole.coverage["lines"].sum()
    assert run.coverage["recognised"].sum() == whole.coverage["recognised"].sum()


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    "stored",
    [
        gzip.compress,
        lambda log: log.replace(b"\n", b"\r\n"),
        lambda log: log.rstrip(b"\n"),
        lambda log: b"\xef\xbb\xbf" + log,
        lambda log: log.decode().encode("utf-16"),
        lambda log: gzip.compress(log[:100_000]) + gzip.compress(log[100_000:]),
    ],
    ids=["gzip", "crlf", "no last line end", "byte order mark", "utf-16", "gzip members"],
)
def test_a_log_stored_in_another_way(
    tmp_path: Path, name: str, stored: Callable[[bytes], bytes]
) -> None:
    run = opened(tmp_path, stored(raw_log(name)))
    same(run, run_of(name))  # which was read from zstd
    for bucket in BUCKETS:
        assert run.coverage[bucket].to_list() == run_of(name).coverage[bucket].to_list()


def test_a_log_read_twice_says_the_same() -> None:
    for name in SMALL:
        same(open_log(path_of(name)), open_log(path_of(name)), without=())


# ---- dialects -----------------------------------------------------------------------------------

_TID = re.compile(rb"(?m)^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.(\d{6}): ([IWEF]) ( *\d+) ([^ \]]*/)?")
_ABSL = re.compile(rb"(?m)^([IWEF])0000 00:00:(\d{10})\.(\d{6}) ( *\d+) ")


@cache
def _epoch(local: bytes) -> int:
    moment = datetime.strptime(local.decode(), "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007
    return int(moment.replace(tzinfo=UTC).timestamp())


def to_absl(log: bytes) -> bytes:
    """Classic prefixes with thread ids as TensorFlow 2.21 would have printed them, in UTC."""
    return _TID.sub(
        lambda match: b"%b0000 00:00:%d.%b %b " % (match[3], _epoch(match[1]), match[2], match[4]),
        log,
    )


def to_classic(log: bytes) -> bytes:
    """Prefixes of absl as TF_CPP_LOG_THREAD_ID=1 has them in earlier releases."""

    def prefix(match: re.Match[bytes]) -> bytes:
        moment = datetime.fromtimestamp(int(match[2]), UTC)
        return b"%b.%b: %b %b " % (
            f"{moment:%Y-%m-%d %H:%M:%S}".encode(),
            match[3],
            match[1],
            match[4],
        )

    return _ABSL.sub(prefix, log)


@pytest.mark.parametrize(
    ("name", "convert"),
    [
        ("function_mlp__tf2.13.1__vlog2__tid", to_absl),
        ("function_mlp__tf2.21.0__vlog2", to_classic),
        ("py_function__tf2.21.0__vlog2", to_classic),
        ("python_threads__tf2.21.0__vlog2", to_classic),
    ],
)
def test_a_log_in_another_dialect(
    tmp_path: Path, name: str, convert: Callable[[bytes], bytes]
) -> None:
    log = convert(raw_log(name))
    assert log != raw_log(name)
    run, whole = opened(tmp_path, log), run_of(name)
    assert run.coverage["tensorflow_dialect"][0] != whole.coverage["tensorflow_dialect"][0]
    same(run, whole)
    for bucket in BUCKETS:
        assert run.coverage[bucket].to_list() == whole.coverage[bucket].to_list()


def test_converting_there_and_back_is_no_change() -> None:
    log = raw_log("py_function__tf2.21.0__vlog2")
    assert to_absl(to_classic(log)) == log


def test_without_thread_ids_one_thread_at_a_time_says_the_same(tmp_path: Path) -> None:
    """A program that does one thing after the other needs no thread ids to be understood."""
    name = "function_mlp__tf2.13.1__vlog2__tid"
    log = re.sub(
        rb"(?m)^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: [IWEF]) +\d+ ", rb"\1 ", raw_log(name)
    )
    run = opened(tmp_path, log)
    assert run.coverage["tensorflow_dialect"].to_list() == ["classic"]
    same(run, run_of(name), without=("source", "thread", "link", "cause", "causes"))


@given(st.integers(1, 60))
@settings(QUICK, max_examples=examples(5))
def test_another_source_line_of_tensorflow_changes_nothing(tmp_path: Path, shift: int) -> None:
    """Releases move messages to other lines of their files; only texts count."""
    log = Log()
    for node in (SOURCE, X, MATMUL, ADD):
        log.run(node, -3)
    log.eager_op("_MklMatMul", 4)
    moved = re.sub(r"\.cc:(\d+)\]", lambda at: f".cc:{int(at[1]) + shift}]", log.text())
    same(opened(tmp_path, moved.encode()), opened(tmp_path, log.text().encode()))
