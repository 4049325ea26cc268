"""Findings of verbose lines alone: errors, creation, refusals, what began and has no end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from tflogscope.grammar.rewriters import ONEDNN
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.facts import Entry
from tflogscope.model.common.frames import only
from tflogscope.model.common.verbose import MADE, verbose_facts
from tflogscope.model.findings.finding import Finding, most
from tflogscope.model.pipeline import Evidence

MUCH = threshold("verbose-lines.share")
LEAST_US = threshold("verbose-lines.least")
# What stays where the shapes of one layer vary: sizes of weights, or the last one. In problems of
# oneDNN (tests/benchdnn/doc) a batch is `mb`, times are `t`, space is `ih`, `ow`, …
_OF_LAYER = pl.coalesce(
    pl.when(pl.col("problem").str.contains(r"[a-z]c\d")).then(
        pl.col("problem").str.replace_all(r"(?:mb|t|[io][dhw]|p[dhw])\d+", "")
    ),
    pl.col("problem").str.extract(r":([\dx]+)"),
    pl.col("problem").str.extract(r"(\d+)$"),
)


def verbose_findings(evidence: Evidence) -> Iterator[Finding]:
    """What oneDNN says of itself; of its time only where no op of TensorFlow is known."""
    if evidence.events.primitives.is_empty():
        return
    verbose = verbose_facts(evidence.events)
    yield from _messages("onednn-error", verbose.errors)
    yield from _open(verbose)
    yield from _failed(evidence, verbose)
    yield from _messages("onednn-check", verbose.checks)
    if evidence.executions.frame.is_empty():
        yield from _creation(evidence, verbose)
        yield from _reorders(evidence)


def _lines(evidence: Evidence) -> pl.DataFrame:
    return only(evidence.events.primitives, evidence.linked.links["library"] == ONEDNN)


def _messages(id_: str, messages: pl.DataFrame) -> Iterator[Finding]:
    for message, place, count, _, at in messages.rows():
        facts = {"message": message, "place": place, "times": count if count > 1 else None}
        yield Finding(id_, message or "?", count, None, [at], facts)


def _open(verbose: Entry) -> Iterator[Finding]:
    if verbose.open.is_empty():
        return
    last = verbose.open.row(-1, named=True)
    name = " ".join(filter(None, (last["primitive"], last["implementation"])))
    facts = {
        "what": "run" if last["event"].startswith("exec") else "creation",
        "primitive": name,
        "problem": last["problem"],
        "more": verbose.open.height - 1,
    }
    yield Finding("primitive-open", name, verbose.open.height, None, [last["at"]], facts)


def passed_over(evidence: Evidence, primitives: pl.Series) -> list[dict[str, Any]]:
    """Why implementations of some primitives were skipped, as far as the log says it."""
    refused = verbose_facts(evidence.events).refused
    return _passed(refused.filter(pl.col("primitive").is_in(primitives.implode())))


def _passed(refused: pl.DataFrame) -> list[dict[str, Any]]:
    name = pl.coalesce("implementation", "primitive")
    return refused.select("reason", "place", name=name).unique(maintain_order=True).to_dicts()


def _failed(evidence: Evidence, verbose: Entry) -> Iterator[Finding]:
    lines = _lines(evidence)
    for (primitive,), failures in verbose.failed.group_by("primitive", maintain_order=True):
        at = failures["at"].to_list()
        problem = lines.filter(at=at[0])["problem"].first()
        facts = {"passed": _passed(failures), "problem": problem}
        yield Finding("no-implementation", str(primitive), failures.height, None, at, facts)


def _creation(evidence: Evidence, verbose: Entry) -> Iterator[Finding]:
    """More time goes into making primitives than into running them."""
    lines = _lines(evidence)
    made = only(lines, lines["event"].str.contains(MADE))
    ran = float(only(lines["duration_us"], lines["event"] == "exec").sum() or 0)
    if verbose.created_us < LEAST_US or verbose.created_us <= ran:
        return
    costly = made.group_by("primitive").agg(pl.col("duration_us").sum()).sort("duration_us")
    primitive = costly["primitive"].last()
    shapes = made.filter(pl.col("primitive") == primitive).drop_nulls("problem").unique("problem")
    problems = shapes.filter(pl.len().over(_OF_LAYER) > 1).height
    if not problems:  # each layer's is made once, before its first run
        return
    facts = {"took": verbose.created_us, "ran": ran, "problems": problems}
    at = made["at"].to_list()
    yield Finding("primitive-creation", str(primitive or "?"), verbose.made, None, at, facts)


def _reorders(evidence: Evidence) -> Iterator[Finding]:
    """Reorders take much of the time of primitives."""
    lines = evidence.linked.of(ONEDNN).lines
    reorders = only(lines, lines["primitive"] == "reorder")
    took, whole = (float(frame["duration_us"].sum() or 0) for frame in (reorders, lines))
    if took < max(LEAST_US, MUCH * whole) or took == whole:
        return
    kinds = pl.format("{} {}", "primitive", "implementation").alias("kind")
    # Weights are packed once, when a model is loaded or first run.
    again = reorders.filter(pl.len().over("implementation", "problem") > 1)["duration_us"].sum()
    repeats = again >= max(LEAST_US, MUCH * whole)
    names = most(reorders.select(kinds)["kind"])
    facts = {"took": took, "share": took / whole, "names": names, "once": not repeats}
    facts["worth_a_look"] = repeats
    at = reorders["at"].to_list()
    yield Finding("reorder-time", "reorder", reorders.height, None, at, facts)
