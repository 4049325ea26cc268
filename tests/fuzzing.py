"""What the fuzzer runs: each target takes any bytes and asserts what has to hold for them.

`tools/fuzz.py` feeds them; what it finds is fixed and kept in `tests/fuzzed/TARGET/`, where
`test_fuzzed` runs each kept case again.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import polars as pl
from rich.console import Console

from tests.made_run import in_memory, program
from tests.samples import NAMES, raw_log
from tests.test_model_schema import SCHEMA, check_tables
from tests.verbose_samples import verbose_samples
from tests.wrappers import (
    TELL_APART,
    WRAPPERS,
    in_fragments,
    journal_export,
    mixed,
    wrapped,
)
from tflogscope import Run, open_log, open_store
from tflogscope.checks.baseline import read_baseline
from tflogscope.checks.evaluation import check_run
from tflogscope.checks.policy import read_policy
from tflogscope.errors import NothingRecognised, QueryError, TflogscopeError
from tflogscope.events.events import PLACES, Events
from tflogscope.events.onednn import VERBOSE_SCHEMA, read_verbose
from tflogscope.events.scan import Scan
from tflogscope.events.verbose_lines import lines_of
from tflogscope.exports.redact import Redactor
from tflogscope.grammar.load import load_grammar
from tflogscope.live.growing import Growing
from tflogscope.model.executions.executions import with_places
from tflogscope.model.log_run import LogRun
from tflogscope.model.opening import read_log
from tflogscope.model.pictures.moments import moment_ns
from tflogscope.model.reasons.conditions import parse_attributes
from tflogscope.query.sql import select, where
from tflogscope.recording.pass_on import PassOn
from tflogscope.sources.discover import find_sources
from tflogscope.sources.source import Source
from tflogscope.stores.collect import collect_run
from tflogscope.stores.layout import RUN_COLUMNS
from tflogscope.stores.naming import name_runs
from tflogscope.views.analyze import analyze_document, summary_json
from tflogscope.views.markdown import markdown
from tflogscope.views.terminal import draw

ROOT = Path(__file__).parent.parent
KEPT = Path(__file__).parent / "fuzzed"
BUCKETS = ("recognised", "ignored", "unknown", "continuation", "blank")
T = TypeVar("T")
_CANARY = "nobody may read this"
_PLANTED = "kundealice77123"


# ---- targets ------------------------------------------------------------------------------------


def torn(data: bytes) -> None:
    """A log of few lines, torn: every line is counted once."""
    path = _written(data)
    grammar = load_grammar()
    events = Events(Scan(find_sources([path]), grammar).wait(), grammar)
    row = events.coverage.to_dicts()[0]
    assert row["lines"] == data.count(b"\n") + bool(data and not data.endswith(b"\n"))
    assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]
    assert row["records"] == row["recognised"] + row["ignored"] + row["unknown"]
    assert events.runs["at"].is_between(0, row["lines"] * PLACES - 1).all()


def envelopes(data: bytes) -> None:
    """A log with something around its lines: each line is in one process, and counted once."""
    path = _written(data)
    found = _ignoring(NothingRecognised, lambda: read_log(1, path))
    if found is None:
        return
    events, lines = found[0], data.count(b"\n") + bool(data and not data.endswith(b"\n"))
    rows = events.coverage.to_dicts()
    # A head inside a line, and a line feed in a text of JSON, may begin one more.
    assert sum(row["lines"] for row in rows) <= lines + data.count(b"<std") + data.count(b"\\n")
    for row in rows:
        assert sum(row[bucket] for bucket in BUCKETS) == row["lines"]
        assert row["records"] == row["recognised"] + row["ignored"] + row["unknown"]
    places = with_places(events.spans, events.record_times.select("at"))
    assert places["line"].is_between(1, lines).all()


def log(data: bytes) -> None:
    """A whole log: the tables are those of the contract, and what is shown can be."""
    run = _opened(data)
    if run is None:
        return
    for name in SCHEMA:
        assert getattr(run, name) is not None
    check_tables(run)
    summary_json(run)
    console = Console(file=io.StringIO(), width=100)
    draw(analyze_document(run), console)
    markdown(analyze_document(run))
    _ = run.slices, run.recorded_as, run.findings


def verbose(data: bytes) -> None:
    """Verbose lines: a row each, with times that are numbers."""
    lines = _text(data).split("\n")
    frame = pl.DataFrame({"at": range(len(lines)), "text": lines})
    rows = read_verbose(lines_of(frame.cast({"at": pl.Int64, "text": pl.String})))
    assert dict(rows.schema) == VERBOSE_SCHEMA
    assert set(rows["at"]) <= set(range(len(lines)))
    assert rows["duration_us"].is_finite().all()


def nodes(data: bytes) -> None:
    """The attributes of a node definition: read, or nothing is known."""
    parse_attributes(_text(data))


def condition(data: bytes) -> None:
    """A condition of --where: rows in their order, or an error."""
    text = _text(data)
    try:
        assert where(_rows(), text)["row"].is_sorted()
    except QueryError as error:
        assert 0 <= error.place <= len(text)  # noqa: PT017  both ways are right


def policy(data: bytes) -> None:
    """A policy: a run is checked by it, or it is refused."""
    _ignoring(TflogscopeError, lambda: check_run(_made_run(), read_policy(in_memory(data))))


def baseline(data: bytes) -> None:
    """A baseline: a run is checked against it, or it is refused."""
    known = _ignoring(TflogscopeError, lambda: read_baseline(in_memory(data)))
    if known is not None:
        check_run(_made_run(), read_policy(in_memory(b"")), known)


def sql(data: bytes) -> None:
    """A statement over the tables: `FILE` in it is a file that nothing may come from."""
    text = _text(data).replace("FILE", _canary())
    try:
        shown = str(select(SimpleNamespace(ops=_rows().head(2), nodes=_rows().head(2)), text))
    except QueryError as error:
        shown = str(error)
    assert _CANARY.split(maxsplit=1)[0] not in shown.replace(text, "")


def sql_words(data: bytes) -> None:
    """The same with statements that polars understands more often: each byte is a word."""
    sql(" ".join(_SQL_WORDS[byte % len(_SQL_WORDS)] for byte in data).encode())


def moment(data: bytes) -> None:
    """What --from and --to take: a place of the log, or an error."""
    _ignoring(TflogscopeError, lambda: moment_ns(_small_run(), _text(data), last=False))


def redact(data: bytes) -> None:
    """What a log says of its program: a word in each line of it, none of which get through."""
    lines = _text(data).replace(_PLANTED, "").splitlines() or [""]
    planted = "\n".join(_with_planted(line, number) for number, line in enumerate(lines))
    blocks = Redactor(b"k" * 16).blocks(Source(str(_written(planted.encode()))))
    assert _PLANTED not in b"".join(text for text, _ in blocks).decode()


def stacks(data: bytes) -> None:
    """Lines that `record` has a program write: the places named are places of them."""
    run = _opened(data)
    if run is None:
        return
    written = _text(data)
    for place in run.timeline["python"].drop_nulls().unique():
        file, _, line = place.rpartition(":")
        assert file.split("/")[-1] in written
        assert line in written
    lines = run.summary.lines
    assert lines.is_empty() or lines["first_line"].is_between(1, len(written)).all()
    check_tables(run)


def watched(data: bytes) -> None:
    """A log that comes in small pieces is the log: what `watch` reads is what `analyze` reads."""
    path = _written(data)
    whole = _ignoring(NothingRecognised, lambda: read_log(2, path))
    sizes = [1 + byte for byte in data[:40]] or [1]
    stream = io.BytesIO(data)
    turn = itertools.cycle(sizes)
    growing = Growing(str(path), [lambda: stream.read(next(turn))], load_grammar())
    growing.scan.wait()
    run = growing.run()
    if whole is None or len(whole[1]) > 1 or whole[1][0].process:
        return  # of several processes it follows one
    for name in ("ops", "timeline", "primitives"):
        assert getattr(run, name).equals(getattr(LogRun(*whole), name))


def collected(data: bytes) -> None:
    """One log among others: it is in the store whole, or failed in words, and not done again."""
    path, store = _written(data), _folder() / "store"
    shutil.rmtree(store, ignore_errors=True)
    [named] = name_runs([str(path)], None, ["run", *RUN_COLUMNS])
    row, there = collect_run(str(store), named, "1")
    assert not there
    assert row["state"] == "done" or (row["error"] and "fault" not in row["error"])
    rows = open_store(store).rows
    assert rows["state"].to_list() == [row["state"]]
    if row["state"] == "done":
        run, stored = open_log(path), open_store(store).run(named.run)
        assert all(getattr(run, name).equals(getattr(stored, name)) for name in ("ops", "nodes"))
        assert collect_run(str(store), named, "1")[1]


def pass_on(data: bytes) -> None:
    """What a recorded program writes: in whatever pieces it comes, the same is passed on."""
    whole, pieces = (_passed(parts) for parts in ([data], re.findall(rb"(?s).{1,7}", data)))
    assert whole == pieces
    # Where a record is in the middle of a line, an end of a line is added.
    assert len(whole[0]) + len(whole[1]) <= len(data) + whole[0].count(b"\n")


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        torn,
        envelopes,
        log,
        verbose,
        nodes,
        condition,
        policy,
        baseline,
        sql,
        sql_words,
        moment,
        redact,
        stacks,
        watched,
        collected,
        pass_on,
    )
}


# ---- what they need -----------------------------------------------------------------------------


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _with_planted(line: str, number: int) -> str:
    """A line with the word in a place that depends on both."""
    # Not inside of a word: that, with its pseudonym's name in it, would be another one.
    places = [found.start() for found in re.finditer(r"\b(?<![0-9A-Za-z_])|$", line)]
    at = places[zlib.crc32(f"{number} {line}".encode()) % len(places)]
    return f"{line[:at]}{_PLANTED} {line[at:]}"


def _ignoring(error: type[Exception], call: Callable[[], T]) -> T | None:
    try:
        return call()
    except error:
        return None


def _written(data: bytes) -> Path:
    path = _folder() / "run.log"
    path.write_bytes(data)
    return path


def _opened(data: bytes) -> Run | None:
    return _ignoring(NothingRecognised, lambda: open_log(_written(data)))


@cache
def _folder() -> Path:
    """In memory, where the system has such a folder: the fuzzer writes a file for each run."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="tflogscope-fuzz-", dir=memory))


@cache
def _canary() -> str:
    path = _folder() / "canary.csv"
    path.write_text(f"{_CANARY}\n{_CANARY}\n")
    return str(path)


@cache
def _rows() -> pl.DataFrame:
    """Few rows with a column of each type."""
    rows = _small_run().timeline.head(20)
    return rows.with_columns(ran=pl.col("line") % 2 == 0).with_row_index("row")


@cache
def _small_run() -> Run:
    run = _opened(b"".join(raw_log(NAMES[0]).splitlines(keepends=True)[:2000]))
    assert run is not None
    return run


@cache
def _made_run() -> Run:
    return program().run()


def _passed(pieces: Iterable[bytes]) -> tuple[bytes, bytes]:
    output: list[bytes] = []
    errors: list[bytes] = []
    passing = PassOn(output.append, errors.append)
    for piece in pieces:
        passing.feed(piece)
    passing.idle()
    return b"".join(output), b"".join(errors)


# ---- seeds --------------------------------------------------------------------------------------

_GLUED = re.compile(rb"(?m)^.+(?:_verbose,|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: I ).*$")
_SQL = (
    "SELECT * op line ops nodes t u ( ( ) ) , FROM FROM WHERE GROUP ORDER BY UNION ALL JOIN ON AS "
    "WITH IN EXISTS CASE WHEN THEN END LIMIT 1 'FILE' 'FILE' read_csv( READ_CSV( \"read_csv\"( "
    "read_json( `read_csv`( read_csv/**/( main.read_csv( VALUES LATERAL TABLE( UNNEST( = true -- "
    "\n COUNT(*) DISTINCT CROSS USING(row) OVER( PARTITION"
)
_SQL_WORDS = _SQL.split(" ")
_STATEMENTS = (
    "SELECT mode, COUNT(*) AS runs FROM ops GROUP BY mode ORDER BY mode",
    "WITH some AS (SELECT * FROM ops WHERE line > 1) SELECT COUNT(*) FROM some, nodes",
    "SELECT 'read_csv(1)' FROM ops WHERE op IN (SELECT op FROM nodes) UNION SELECT op FROM nodes",
    "SELECT * FROM read_csv('FILE')",
    "SELECT * FROM ops, \"read_csv\"('FILE') t",
    "WITH t AS (SELECT * FROM READ_CSV/* x */('FILE')) SELECT (SELECT 1 FROM t) -- x\nFROM ops",
    "SELECT * FROM 'FILE'",
)
_BASELINE = (
    '{"tflogscope_baseline": 1, '
    '"violations": [{"check": "max_retraces", "function": "f", "amount": 2}]}'
)
_MOMENTS = ("30882", "03:56:54.2", "2026-11-21 03:56:54", "+1.5s", "+200ms", "+2min")


def seeds(target: str) -> list[bytes]:
    """The first inputs: pieces of the sample logs, and what the documents show."""
    if target == "stacks":
        logs = map(str, sorted((ROOT / "tests/lines").glob("*.zst")))
        return [piece for log in logs for piece in _pieces(Source(log).head(1 << 21), target)]
    if target in {"torn", "log", "pass_on", "redact", "watched", "collected"}:
        return [piece for name in NAMES for piece in _pieces(raw_log(name), target)]
    if target == "envelopes":
        lines = raw_log(NAMES[0]).splitlines(keepends=True)
        first = next(at for at, line in enumerate(lines) if b": I " in line)
        piece = b"".join(lines[first : first + 12])
        made = [wrapped(piece, name) for name in WRAPPERS]
        made += [mixed([piece, piece], name)[0] for name in TELL_APART]
        tags = "[1,{}]<stderr>:", "Thu Nov 26 01:01:27 2026[1,{}]<stdout>: ", "[{}]<stderr>:"
        made += [in_fragments([piece, piece[:-9]], tag, 300) for tag in tags]
        cut = rb"2026-11-21T03:56:54.1Z stderr P \1\n2026-11-21T03:56:54.2Z stderr F \2"
        made += re.sub(b"(?m)^(.{60})(.+)", cut, piece), re.sub(b"(.{80})", rb"\1\n", piece)
        return [
            *made,
            in_fragments([piece], "Thu Nov 26 01:01:27 2026<stderr>:", 300),
            journal_export([piece, piece]),
        ]
    if target == "verbose":
        return [sample.line.encode() for sample in verbose_samples()]
    if target == "nodes":
        found = {
            text
            for name in NAMES
            for text in re.findall(rb"\{\{node [^\n]*?\)(?= device)", raw_log(name))
        }
        return sorted(found)[::20]
    documents = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
    examples = {
        "condition": re.findall(r"--where [\"'](.+?)[\"']", documents)
        + re.findall(r"(?m)^    (\w+ (?:==|>|is) .+)$", documents),
        "policy": re.findall(r"(?s)```toml\n(.*?)```", documents),
        "baseline": [_BASELINE],
        "sql": list(_STATEMENTS),
        "sql_words": [chr(place) * 3 for place in range(0, len(_SQL_WORDS), 9)],
        "moment": list(_MOMENTS),
    }
    return [example.encode() for example in examples[target]]


def _pieces(log: bytes, target: str) -> list[bytes]:
    """A few pieces of some lines; for `torn` around the lines in which two texts met."""
    lines = log.splitlines(keepends=True)
    if target == "torn":
        met = [place for place, line in enumerate(lines) if _GLUED.match(line)][:8]
        return [b"".join(lines[max(0, place - 2) : place + 4]) for place in met]
    step = max(1, len(lines) // 6)
    return [b"".join(lines[place : place + 12]) for place in range(0, len(lines), step)]
