"""Python code between the calls of threads that serve, and signatures that take one row.

Such threads wait between two calls, for requests or for each other, which saves nothing if it is
left out. `record` says how long a thread computed; only that counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.frames import holds, is_among, looked_up, only
from tflogscope.model.findings.finding import AVOIDABLE, Finding, claim_spans
from tflogscope.model.ledger.services import serving_threads
from tflogscope.model.pipeline import Evidence
from tflogscope.model.rows.spans import DISPATCH_US, LEAST

_IDLE_SHARE = threshold("between-steps.idle_share")
_LEAST_ROWS = threshold("single-rows.least_calls")
# saved_model/signature_serialization.py names the function of a signature so.
_SIGNATURE = r"^signature_wrapper_"
_SHAPE = r"\b_output_shapes=\[\[([^\]]*)\]"


def serving_findings(evidence: Evidence) -> Iterator[Finding]:
    """What threads that serve compute between calls, and calls for one row each."""
    yield from _computing(evidence)
    yield from _single_rows(evidence)


def _single_rows(evidence: Evidence) -> Iterator[Finding]:
    """Signatures of a SavedModel that were exported for one row, called again and again.

    The first dimension of an argument is in the attributes of its node.
    """
    nodes = evidence.nodes.filter(pl.col("function").str.contains(_SIGNATURE), op="_Arg")
    shape = pl.col("attributes").str.extract(_SHAPE, 1)
    given = nodes.filter(~pl.col("attributes").str.contains("T=DT_RESOURCE"))
    per = given.group_by("function", maintain_order=True).agg(shape.str.contains("^1(?:,|$)").all())
    for function in per.filter(holds(pl.col("attributes")))["function"]:
        calls = evidence.calls.filter(~pl.col("nested"), function=function)["at"]
        spans = only(evidence.loops, is_among(evidence.loops["at"], calls))
        if spans.height < _LEAST_ROWS:
            continue
        claims = [claim_spans(spans, gap=pl.col("gap"), op=pl.col("work_us"))]
        facts = {"calls": calls.len(), "took": AVOIDABLE}
        at = spans["at"].to_list()
        yield Finding("single-rows", function, calls.len(), None, at, facts, claims=claims)


def _computing(evidence: Evidence) -> Iterator[Finding]:
    """Where Python between the calls of a function computes for much of what the calls take.

    What a gap computed belongs to the function that its thread calls next.
    """
    threads = serving_threads(evidence)
    spans = evidence.computed.filter(pl.col("thread").is_in(threads))
    if spans.is_empty():
        return
    names = evidence.calls.select("at", "function")
    spans = looked_up(spans, names, "at").with_columns(
        pl.col("function").fill_null(strategy="backward").over("thread"),
        often=pl.len().over("op", "before") >= LEAST,
    )
    # What TensorFlow's own Python needs for an op or a call is not the program's.
    dispatch = DISPATCH_US * (evidence.without_log.python_pace or 1.0)
    long = spans.filter("often", ~pl.col("once"), pl.col("computed") > dispatch)
    for (function,), gaps in long.group_by("function", maintain_order=True):
        calls = spans.filter("is_call", pl.col("function") == function)
        inside, took = float(calls["work_us"].sum()), float(gaps["computed"].sum())
        if function is None or gaps.height < LEAST or took <= _IDLE_SHARE * inside:
            continue
        first = gaps.sort("computed", descending=True, maintain_order=True)
        passed = float(calls.select(pl.col("end").max() - pl.col("begin").min()).item())
        facts = {
            "computed": AVOIDABLE,
            "inside": inside,
            "calls": calls.height,
            "passed": passed,
            "serving": calls["thread"].n_unique(),
        }
        at, claims = first["at"].to_list(), [claim_spans(gaps, gap=pl.col("computed"))]
        yield Finding("between-steps", str(function), gaps.height, None, at, facts, claims=claims)
