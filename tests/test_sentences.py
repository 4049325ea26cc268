"""What is said of known programs (tests/sentences): findings, limits, answers, verdicts."""

from __future__ import annotations

import re
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
from tflogscope import Run
from tflogscope.grammar.template import fields_of, tokens_of
from tflogscope.model.common.sentences import TYPES, rows, words

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


@pytest.mark.thorough
@pytest.mark.parametrize("log", [*NAMES, *sorted({fact["log"] for _, fact in HOLDS + FAILS})])
def test_no_sentence_has_a_hole(log: str) -> None:
    run = run_of(log)
    facts, headline = run.summary, run.headline
    texts = [headline.verdict, *facts.findings["text"]]
    texts += [each.text for each in facts.limits] + [each.text for each in facts.answers]
    texts += [f"{each.value}; {each.about}." for each in headline.figures]
    for text in [*texts, *facts.findings["advice"]]:
        said = re.sub(r"TensorSpec\([^)]*\)", "TensorSpec", text)  # a size of None is one
        said = re.sub(r"\b(cache|shuffle)\(\)", r"\1", said)  # methods
        said = re.sub(r": None →", ": nothing →", said)  # so is an argument's value
        said = re.sub(r"^None of the", "Not one of the", said)  # the English word
        assert not re.search(r"\bNone\b|\(\)|[.,;:] ?[.;]", said), text


TEMPLATES = [
    pytest.param(template, id=f"{kind} {row.id}")
    for kind in ("finding", "limit", "answer", "verdict")
    for row in rows(kind).values()
    for template in (row.text, row.advice)
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_is_well_formed(template: str) -> None:
    assert list(fields_of(tokens_of(template, TYPES))) or "$" not in template


def test_what_is_not_known_is_left_out() -> None:
    text = "${n:number} op${n:(|s)}$[ in ${time:time}$]$(, by ${a:and}$|, by ${b:if}B$|, alone$)."
    assert words(text, {"n": 1, "time": 0.0, "a": ["x", "y"]}) == "1 op in 0 µs, by x and y."
    assert words(text, {"n": 2000, "time": None, "b": True}) == "2,000 ops, by B."
    assert words(text, {"n": 0, "a": []}) == "0 ops, alone."
    with pytest.raises(KeyError):
        words(text, {})


PARTS = ("passes_us", "traces_us", "compile_us", "primitives_us", "xla_us", "run_us")


@pytest.mark.parametrize(
    "log", ["threads_first__tf2.20.0__record", "threads_serve__tf2.20.0", "gan__tf2.20.0__record"]
)
def test_a_part_of_a_call_is_not_longer_than_the_call(log: str) -> None:
    run = run_of(log)
    first, functions = run.stages.first_calls, run.summary.functions
    whole = pl.col("took_us") + pl.col("before_us").fill_null(0)
    assert first.height
    assert first.filter(pl.sum_horizontal(PARTS) > whole + 1000).is_empty()
    table = functions.select("function", "function_uid", "later_us", "instantiation_us", "first_us")
    both = first.join(table, on=["function", "function_uid"], suffix="_shown")
    assert both.filter(pl.col("later_us") != pl.col("later_us_shown")).is_empty()
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
