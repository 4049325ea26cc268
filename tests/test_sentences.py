"""What is said of known programs (tests/sentences): findings, limits, answers, verdicts."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tflogscope
from tests.deep import first_quick
from tests.samples import NAMES, raw_log, run_of
from tests.sentence_rows import all_rows, read_rows, rows_said
from tflogscope import Run
from tflogscope.model.common.sentences import FORMATS, Words, rows
from tflogscope.model.costs.first_calls import PARTS

FACTS: dict[str, dict[str, list[dict[str, Any]]]] = tomllib.loads(
    (Path(__file__).parent / "sentences" / "facts.toml").read_text(encoding="utf-8")
)
HOLDS = [(sentence, fact) for sentence, facts in FACTS.items() for fact in facts["holds"]]
FAILS = [(sentence, fact) for sentence, facts in FACTS.items() for fact in facts["fails"]]
KEYS = {"log", "subject", "count", "python", "time_us", "text", "advice", "never", "because"}


def said(run: Run, sentence: str) -> list[dict[str, Any]]:
    """All that is said of a run under one id."""
    kind, id_ = sentence.split()
    facts = run.summary
    entries: dict[str, list[dict[str, Any]]] = {
        "finding": facts.findings.to_dicts(),
        "limit": [*facts.limits],
        "answer": [*facts.answers],
    }
    if kind == "verdict":
        verdict = {"id": run.headline.id, "text": run.headline.verdict}
        return [verdict] if verdict["id"] == id_ else []
    return [entry for entry in entries[kind] if entry["id"] == id_]


def fits(entry: dict[str, Any], fact: dict[str, Any]) -> bool:
    """Whether a sentence has what the fact says of it."""
    text, advice = entry["text"], entry.get("advice", "")
    least, most = fact.get("time_us", (None, None))
    return (
        all(entry[key] == fact[key] for key in ("subject", "count", "python") if key in fact)
        and (least is None or least <= entry["time_us"] <= most)
        and all(part in text for part in fact.get("text", ()))
        and all(part in advice for part in fact.get("advice", ()))
        and not any(part in text + advice for part in fact.get("never", ()))
    )


def name(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return f"{value['log']}-{value['subject']}" if "subject" in value else str(value["log"])


@pytest.mark.parametrize(("sentence", "fact"), first_quick(HOLDS, itemgetter(0)), ids=name)
def test_it_is_said_where_it_holds(sentence: str, fact: dict[str, Any]) -> None:
    entries = said(run_of(fact["log"]), sentence)
    assert sum(fits(entry, fact) for entry in entries) == 1, (fact["because"], entries)


@pytest.mark.thorough
@pytest.mark.parametrize(("sentence", "fact"), FAILS, ids=name)
def test_it_is_not_said_where_it_does_not_hold(sentence: str, fact: dict[str, Any]) -> None:
    entries = said(run_of(fact["log"]), sentence)
    assert not [entry for entry in entries if fits(entry, fact)], (fact["because"], entries)


def changed(name: str, folder: Path, change: Callable[[bytes], bytes]) -> Run:
    """The run of a known log with something else in it."""
    path = folder / "run.log"
    path.write_bytes(change(raw_log(name)))
    return tflogscope.open_log(path)


def test_bfloat16_is_for_cpus_with_amx(tmp_path: Path) -> None:
    name = "killed_running__tf2.13.1__buffered"
    amx = b" and Intel AMX with bfloat16 and 8-bit integer"
    assert said(run_of(name), "finding bfloat16")
    run = changed(name, tmp_path, lambda text: text.replace(amx, b""))
    assert run.summary.onednn is not None
    assert run.summary.onednn.header.isa.endswith("bfloat16 support support")
    assert not said(run, "finding bfloat16"), "AVX512_BF16 alone is slower than float32"


def test_two_headers_of_onednn_are_of_two_processes(tmp_path: Path) -> None:
    def silent(text: bytes) -> bytes:
        lines = text.splitlines(keepends=True)
        return b"".join(line for line in lines if b"cpu_feature_guard.cc" not in line)

    run = changed("two_at_once__tf2.13.1__notid", tmp_path, silent)
    (limit,) = said(run, "limit several-processes")
    assert "oneDNN started again on line 6,716" in limit["text"]


@pytest.mark.thorough
@pytest.mark.parametrize(("end", "stopped"), [('"status":0', False), ('"status":137', True)])
def test_a_program_that_ended_by_itself_was_not_stopped(
    end: str, stopped: bool, tmp_path: Path
) -> None:
    footer = f"# tflogscope record {{{end}}}\n".encode()
    run = changed("killed_tracing_tape__tf2.13.1", tmp_path, lambda text: text + footer)
    assert bool(said(run, "limit stopped")) == stopped


def test_each_sentence_has_a_log_that_shows_it_and_a_near_miss() -> None:
    kinds = ("finding", "limit", "answer", "verdict")
    assert list(FACTS) == [f"{kind} {id_}" for kind in kinds for id_ in rows(kind)]
    assert all(facts["holds"] and facts["fails"] for facts in FACTS.values())


def test_the_facts_can_be_read() -> None:
    for sentence, fact in HOLDS + FAILS:
        assert set(fact) <= KEYS, (sentence, fact)
        assert fact["because"].endswith("."), fact
    for sentence, fact in FAILS:
        assert set(fact) <= {"log", "subject", "count", "because"}, (sentence, fact)


LONG = {
    "ends_at_once__tf2.21.0__record": "Says all that there is to say without problems.",
    "graph_dtypes__tf2.20.0": "Names four ops.",
    "many_threads_inter__tf2.13.1__record": "Names two functions with long names.",
    "onednn_refused": "Quotes what oneDNN printed.",
    "own_metric__tf2.22.0rc0__record": "Says all that there is to say without problems.",
    "predicts_in_callback__tf2.20.0__record": "Is unsure on a busy machine.",
}
"""Logs whose verdicts don't fit into two lines of a terminal, and why."""


@pytest.mark.thorough
@pytest.mark.parametrize("log", [*NAMES, *sorted({fact["log"] for _, fact in HOLDS + FAILS})])
def test_no_sentence_has_a_hole(log: str) -> None:
    run = run_of(log)
    facts, headline = run.summary, run.headline
    assert len(textwrap.wrap(headline.verdict, 100)) <= 2 or log in LONG
    texts = [headline.verdict, *facts.findings["text"]]
    texts += [each.text for each in facts.limits] + [each.text for each in facts.answers]
    texts += [f"{each.value}; {each.about}." for each in headline.figures]
    for text in [*texts, *facts.findings["advice"]]:
        said = re.sub(r"TensorSpec\([^)]*\)", "TensorSpec", text)  # a size of None is one
        said = re.sub(r": None →", ": nothing →", said)  # so is an argument's value
        said = re.sub(r"^None of the", "Not one of the", said)  # the English word
        plain = re.sub(r"\b(?:to|a) None (?=in an|dimension)", "", said)  # a dimension of any size
        assert not re.search(r"\bNone\b|(?<!\w)\(\)|[.,;:] ?[.;]", plain), text


FIELD = re.compile(r"\{\w+(?::([^{}]*))?\}")
PLURAL_OR_DIGITS = re.compile(r"[^|]+\|[^|]+|\.\d[%fg]")


def test_a_row_is_a_sentence_as_it_is_read() -> None:
    for name, sentence in all_rows().items():
        formats = {each for each in FIELD.findall(sentence) if not PLURAL_OR_DIGITS.fullmatch(each)}
        assert formats <= {"", *FORMATS}, name
        words = FIELD.sub("", sentence.replace("{{", "").replace("}}", ""))
        assert not {*"${}\n"} & {*words}, name


def test_each_row_is_said_of_a_log_or_has_a_reason() -> None:
    rows = read_rows()
    shown, unseen = rows["shown"], rows["unseen"]
    assert {*shown, *unseen} == {*all_rows()}, "python -m tests.sentence_rows writes it anew"
    assert not {*shown} & {*unseen}
    assert all(reason.endswith(".") for reason in unseen.values())


SHOWN = sorted({*read_rows()["shown"].values()})


@pytest.mark.parametrize("log", first_quick([(log,) for log in SHOWN]))
def test_rows_are_said_with_all_their_facts(log: str) -> None:
    shown = {name for name, of in read_rows()["shown"].items() if of == log}
    assert shown <= rows_said(log)


def test_the_first_row_whose_facts_are_there_is_said() -> None:
    words = Words({"part": {"us": "{name} {us:time}", "always": "{name}"}})
    rows = {"n names": "{n:op|ops} of {names:and}.", "n": "{n:op|ops}.", "always": "No op."}
    assert words.first(rows, {"n": 1, "names": ["x", "y"]}) == "1 op of x and y."
    assert words.first(rows, {"n": 2000, "names": []}) == "2,000 ops."
    assert words.first(rows, {"n": 0}) == "No op."
    assert words.first({"n": "{n}"}, {}) == ""
    assert words.first("{n:average}", {"n": 18_001.0}) == "18,001"
    assert words.first("{n:average}", {"n": 10 / 3}) == "3.33"
    assert [*words.every({"n": "{n}.", "us": "{us:time}.", "x": "x"}, {"n": 5, "us": 0.0})] == [
        "5.",
        "0 µs.",
    ]
    parts = [{"name": "a", "us": 1500.0}, {"name": "b{c}"}]
    assert words.first("{part}; {part:or}; {n:.1%}.", {"part": parts, "n": 0.5}) == (
        "a 1.5 ms, b{c}; a 1.5 ms or b{c}; 50.0%."
    )
    with pytest.raises(KeyError):
        words.first("{n}", {})


@pytest.mark.parametrize(
    "log", ["threads_first__tf2.20.0__record", "threads_serve__tf2.20.0", "gan__tf2.20.0__record"]
)
def test_a_part_of_a_call_is_not_longer_than_the_call(log: str) -> None:
    run = run_of(log)
    first, functions = run.stages.first_calls, run.summary.functions
    whole = pl.col("wall_us") + pl.col("before").fill_null(0)
    assert first.height
    assert first.filter(pl.sum_horizontal(PARTS[1:]) > whole + 1000).is_empty()
    table = functions.select("function", "function_uid", "later_us", "instantiation_us", "first_us")
    both = first.join(table, on=["function", "function_uid"], suffix="_shown")
    assert both.filter(pl.col("later") != pl.col("later_us")).is_empty()
    assert both.filter(pl.col("instantiation_us") > pl.col("first_us")).is_empty()


@pytest.mark.parametrize(
    ("log", "problems", "later"),
    [
        # Eight shapes, forward and two ways back, five times each; three reorders as often.
        ("conv_shapes__tf2.20.0__record", 8 * 3 + 3, 240 - 27),
        # Near miss: six convolutions alike and their reorders, 20 calls; two products.
        ("threads_first__tf2.20.0__record", 4, 6 * 20 * 2 + 20 + 3 - 4),
    ],
)
def test_first_runs_are_those_of_each_shape_type_and_way(
    log: str, problems: int, later: int
) -> None:
    onednn = run_of(log).summary.onednn
    assert onednn is not None
    assert onednn.first_use.problems == problems
    assert onednn.first_use.later_runs == later
