"""The filter language and SQL: against what Python makes of the same rows; and their errors."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.deep import examples
from tests.samples import run_of
from tests.waiting import PATIENCE_S
from tflogscope.cli.main import main
from tflogscope.errors import QueryError
from tflogscope.query.sql import FUNCTIONS, select, where

FRAME = pl.DataFrame(
    {
        "op": ["MatMul", "Add V2", None, 'say "x"', "and"],
        "kind": ["op", "call", "op", None, "op"],
        "runs": [1, 20, 300, None, -4],
        "total_us": [5, 1_000, 2_500, 1_000_000, None],
        "ran": [True, False, None, True, False],
        "start": [datetime(2026, 11, 21, hour) for hour in range(5)],  # noqa: DTZ001  as logs print
    }
).with_row_index("row")


def rows(condition: str) -> list[int]:
    return where(FRAME, condition)["row"].to_list()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("op = 'MatMul'", [0]),
        ("op = 'say \"x\"'", [3]),
        ("op <> 'MatMul'", [1, 3, 4]),
        ("op IS NULL OR ran", [0, 2, 3]),
        ("op LIKE 'M%' AND kind IS NOT NULL", [0]),
        ("runs IN (1, 300)", [0, 2]),
        ("start >= TIMESTAMP '2026-11-21 03:00:00'", [3, 4]),
        ("(runs = 1 OR runs = 20) AND kind = 'call'", [1]),
    ],
)
def test_conditions(condition: str, expected: list[int]) -> None:
    assert rows(condition) == expected
    statement = f"SELECT * FROM ops WHERE {condition}"
    assert select(SimpleNamespace(ops=FRAME), statement)["row"].to_list() == expected


@pytest.mark.parametrize(
    "condition",
    [
        *("oop = 'MatMul'", "op = MatMul", "op ~ '('", "runs", "", "ran) UNION (SELECT 1"),
        *("op IN (SELECT op FROM ops)", "op = (SELECT * FROM read_csv('README.md'))"),
    ],
)
def test_a_condition_that_is_wrong_says_what_a_right_one_is(condition: str) -> None:
    with pytest.raises(QueryError) as caught:
        where(FRAME, condition)
    assert "op = 'MatMul' AND line > 9" in str(caught.value)


@pytest.mark.thorough
@given(st.text(max_size=30))
@settings(max_examples=examples(100))
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    place = 0
    try:
        found = rows(text)
    except QueryError as error:
        found, place = [], error.place
    assert set(found) <= set(range(5))
    assert 0 <= place <= len(text)


DEEP = 3000


@pytest.mark.thorough
def test_a_condition_with_too_many_operators_is_refused() -> None:
    for condition in (" and ".join(["runs > 1"] * DEEP), "not " * DEEP + "ran"):
        with pytest.raises(QueryError, match="operators"):
            where(FRAME, condition)


def test_only_tables_that_are_named_are_made() -> None:
    run = SimpleNamespace(ops=FRAME)  # has no other table
    found = select(
        run, "WITH some AS (SELECT * FROM ops WHERE runs > 1) SELECT COUNT(*) n FROM some"
    )
    assert found["n"].to_list() == [2]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP TABLE ops", "only SELECT"),
        ("", "only SELECT"),
        ("-- SELECT\nDROP TABLE ops", "only SELECT"),
        ("SHOW TABLES", "only SELECT"),
        ("CREATE TABLE x AS SELECT * FROM read_csv('x')", "only SELECT"),
        ("EXPLAIN SELECT * FROM ops", "only SELECT"),
        ("SELECT op FROM ops; DROP TABLE ops", "one statement|only one|one \\("),
        ("SELECT * FROM range(3)", "other data"),
        ("SELECT nope FROM ops", "nope"),
        ("SELECT op FROM opss", "opss"),
        ("SELECT FROM WHERE", "Tables:"),
    ],
)
def test_statements_that_are_refused(statement: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        select(SimpleNamespace(ops=FRAME), statement)


# All that polars takes for a table function, wherever a table may be named.
READS = [
    "SELECT * FROM read_csv('FILE')",
    "SELECT * FROM READ_CSV('FILE')",
    "SELECT * FROM read_csv/**/('FILE')",
    "SELECT * FROM \"read_csv\"('FILE')",
    "SELECT * FROM `read_csv`('FILE')",
    "SELECT * FROM read_csv -- x\n('FILE')",
    "SELECT * FROM /* ops */ read_csv\t('FILE') AS ops",
    "SELECT * FROM main.read_csv('FILE')",
    "SELECT * FROM 'FILE'",
    'SELECT * FROM "FILE"',
    "SELECT * FROM ops, read_csv('FILE')",
    "SELECT * FROM ops JOIN read_csv('FILE') f ON true",
    "SELECT * FROM (ops CROSS JOIN (SELECT * FROM read_csv('FILE')))",
    "SELECT op FROM ops UNION ALL SELECT * FROM read_csv('FILE')",
    "SELECT (SELECT * FROM read_csv('FILE')) FROM ops",
    "SELECT op FROM ops WHERE op IN (SELECT * FROM read_csv('FILE'))",
    "SELECT op FROM ops WHERE EXISTS (SELECT * FROM read_csv('FILE'))",
    "SELECT op FROM ops ORDER BY (SELECT * FROM read_csv('FILE'))",
    "WITH ops AS (SELECT * FROM read_csv('FILE')) SELECT * FROM ops",
    "WITH read_csv AS (SELECT 1) SELECT * FROM read_csv('FILE')",
    "(WITH a AS (SELECT 1 x) SELECT * FROM read_csv('FILE'))",
    "SELECT * FROM read_ndjson('FILE')",
    "SELECT * FROM read_json('FILE')",
    "SELECT * FROM read_parquet('FILE')",
    "SELECT * FROM read_ipc('FILE')",
    "SELECT * FROM LATERAL read_csv('FILE')",
    "SELECT * FROM TABLE(read_csv('FILE'))",
    "SELECT read_csv('FILE')",
]


@pytest.mark.parametrize("statement", READS)
def test_no_file_is_read_however_it_is_written(tmp_path: Path, statement: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n")
    with pytest.raises(QueryError) as caught:
        select(SimpleNamespace(ops=FRAME), statement.replace("FILE", str(secret)))
    assert "password" not in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("SELECT 'read_csv(1)' AS x FROM ops", 5),
        ("SELECT op FROM ops WHERE op <> 'scan_ipc (''x'')'", 4),
        ("SELECT op AS read_csv FROM ops -- read_csv('x')", 5),
        ("/* read_csv('x') */ SELECT op FROM OPS read_csv", 5),
        ("-- what ran\nSELECT read_csv.op FROM ops AS read_csv", 5),
        ('WITH "a ""b" AS (SELECT * FROM ops LIMIT 2) SELECT * FROM "a ""b"', 2),
        ("(SELECT op FROM ops LIMIT 1) UNION ALL (SELECT 'timeline' FROM ops LIMIT 1)", 2),
        ("WITH a AS (SELECT op FROM ops), b AS (SELECT * FROM a) SELECT * FROM b, (SELECT 1) t", 5),
        ("SELECT op FROM ops WHERE runs IN (SELECT MAX(runs) FROM ops)", 1),
    ],
)
def test_what_looks_like_a_function_and_is_none_stays_legal(statement: str, rows: int) -> None:
    assert select(SimpleNamespace(ops=FRAME), statement).height == rows


@pytest.mark.parametrize("words", [["README.md"], ["README.md", "DROP TABLE ops"], ["x" * 9999]])
def test_a_statement_is_refused_before_logs_are_read(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", *words]) == 2
    error = capsys.readouterr().err
    assert ("no statement given" if words[-1] == "README.md" else "only SELECT") in error


TOO_DEEP = {
    "sum": "SELECT " + "+".join(["line"] * 20_000) + " FROM ops",
    "and": "SELECT op FROM ops WHERE " + " AND ".join(["line=1"] * 2_000),
    "unions": " UNION ALL ".join(["SELECT op FROM ops"] * 1_000),
    "comments": "SELECT op FROM ops WHERE " + "/**/OR/**/".join(["ran"] * 2_000),
    "recursive": "WITH/**/RECURSIVE t AS (SELECT op FROM ops UNION SELECT op FROM t) SELECT 1",
}


@pytest.mark.parametrize("statement", TOO_DEEP.values(), ids=TOO_DEEP.keys())
def test_a_statement_that_is_too_deep_is_refused(statement: str) -> None:
    with pytest.raises(QueryError, match=r"operators|RECURSIVE is not"):
        select(SimpleNamespace(ops=FRAME), statement)


def test_what_is_only_long_is_answered() -> None:
    some = ", ".join(map(str, range(20_000)))
    quoted = "SELECT row FROM ops WHERE row IN ({}) AND op <> '{}'".format(some, "+" * 5_000)
    assert select(SimpleNamespace(ops=FRAME), quoted)["row"].to_list() == [0, 1, 3, 4]


def test_an_answer_has_an_end() -> None:
    frame = pl.DataFrame({"row": range(3_000)})
    joined = "FROM ops a CROSS JOIN ops b CROSS JOIN ops c CROSS JOIN ops d"
    with pytest.raises(QueryError, match="more than 10,000,000 rows"):
        select(SimpleNamespace(ops=frame), f"SELECT a.row {joined}")
    assert select(SimpleNamespace(ops=frame), f"SELECT a.row {joined} LIMIT 5").height == 5


LOG = "sample_logs/function_mlp__tf2.13.1__vlog2.log.zst"
ENDLESS = "SELECT COUNT(*) FROM {}".format(", ".join(f"timeline t{i}" for i in range(9)))


@pytest.mark.thorough
def test_time_has_an_end(capfd: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "tflogscope", "query", LOG, ENDLESS, "--timeout", "1"]
    assert subprocess.run(command, check=False, timeout=PATIENCE_S).returncode == 2
    assert "no result within 1 s" in capfd.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ended", "said"),
    [("SIGSEGV", "stack overflow"), ("SIGABRT", "out of memory"), ("SIGTERM", "")],
)
def test_what_ends_polars_is_said(ended: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    program = "import os, signal, sys; from tflogscope.cli.main import main; "
    program += "import tflogscope.query as q, types; m = types.ModuleType('sql'); "
    program += f"m.select = lambda *_: os.kill(os.getpid(), signal.{ended}); "
    program += "m.require_select = lambda *_: []; sys.modules['tflogscope.query.sql'] = m; "
    program += f"sys.exit(main(['query', {LOG!r}, 'SELECT 1']))"
    code = subprocess.run([sys.executable, "-c", program], check=False).returncode
    error = capfd.readouterr().err
    assert code == 2
    assert said in error
    assert "Traceback" not in error


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_query_can_be_ended(number: int, capfd: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "tflogscope", "query", LOG, ENDLESS]
    started = subprocess.Popen(command)
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
    while not (child := children.read_text().split()):
        assert started.poll() is None
        time.sleep(0.05)
    time.sleep(1)
    started.send_signal(number)
    assert started.wait(10) == (130 if number == signal.SIGINT else -number)
    assert not Path(f"/proc/{child[0]}").exists()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.thorough
def test_a_wrong_condition_has_no_effect_on_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = "sample_logs/function_mlp__tf2.13.1__vlog2.log.zst"
    assert main(["ops", log, "--where", "executions > 0 and \x1b[31moop = 1"]) == 2
    assert "\\x1b[31moop" in (error := capsys.readouterr().err)
    assert "\x1b" not in error
    assert main(["query", log, "SELECT mode FROM ops WHERE op = 'MatMul' AND mode = 'eager'"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "mode"


def test_what_the_parser_knows_and_polars_does_not_is_said_in_words() -> None:
    with pytest.raises(QueryError) as caught:
        where(run_of("function_mlp__tf2.20.0__vlog2").ops, "mode == graph:op")
    said, *_, line, caret = str(caught.value).split("\n")
    assert said == "this expression is not supported; texts are in single quotes"
    assert line[len(caret) - 1 :] == "graph:op"


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("SELECT mode, cuont(*) FROM timeline", "cuont"),
        ("SELECT mode,\n  COUNT(*) form timeline\nGROUP BY mode", "timeline"),
        ("SELECT opp FROM timeline", "opp"),
        ("SELECT op FROM timelin", "timelin"),
        ("SELECT op FROM timeline WHERE mode = graph:op", "graph:op"),
    ],
)
def test_the_caret_is_under_what_is_wrong(statement: str, wrong: str) -> None:
    with pytest.raises(QueryError) as caught:
        select(run_of("function_mlp__tf2.20.0__vlog2"), statement)
    assert statement[caught.value.place :].startswith(wrong)
    *_, line, caret = str(caught.value).split("\n")
    assert line[len(caret) - 1 :].startswith(wrong)


def test_an_unknown_function_is_answered_with_those_there_are() -> None:
    run = run_of("function_mlp__tf2.20.0__vlog2")
    with pytest.raises(QueryError, match="unsupported function 'cuont'") as caught:
        select(run, "SELECT cuont(op) FROM ops")
    assert ", ".join(FUNCTIONS) in str(caught.value.hint)
    for name in FUNCTIONS:  # polars knows each, with these arguments or others
        said = ""
        try:
            select(run, f"SELECT {name}(op) OVER (ORDER BY op) FROM ops")
        except QueryError as error:
            said = str(error)
        assert "unsupported function" not in said, name
