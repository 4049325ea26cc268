"""What a notebook shows of a run: one small HTML table, and a picture of the run over time.

The log's names end in a page that runs scripts and, in Jupyter, typesets `$…$`, so the whole is
marked as no mathematics.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.model.common.figures import count_of, duration
from tflogscope.model.run import Run
from tflogscope.views.analyze import kind_rows
from tflogscope.views.chart import timeline_svg, whole_activity
from tflogscope.views.document import Fact, first, plain
from tflogscope.views.markup import element
from tflogscope.views.onednn import whose
from tflogscope.views.recorded import recorded_facts
from tflogscope.views.text import shorten

_FUNCTIONS_SHOWN = 10
_NAME_WIDTH = 60
_LEFT = "text-align: left"
# MathJax leaves what has these classes alone; its \href would be a way to run a script.
_NO_MATHEMATICS = "tex2jax_ignore mathjax_ignore"


def notebook_html(run: Run) -> str:
    """Return what a notebook shows of a run: the table of `run_html`, and the run over time."""
    return f"{run_html(run)}\n{timeline_svg(run, whole_activity(run))}"


def run_html(run: Run) -> str:
    """Return what was recorded, how much ran eagerly and in graphs, and the functions, as HTML."""
    # Notebooks align cells to the right, so that each has to say it.
    cells = (
        element(
            "tr",
            element("th", fact.label, style=_LEFT),
            element("td", plain(fact.text), style=_LEFT),
        )
        for fact in _facts(run)
    )
    return element(
        "table",
        element("caption", "tflogscope run"),
        element("tbody", *cells),
        class_=f"tflogscope {_NO_MATHEMATICS}",
    )


def _facts(run: Run) -> Iterator[Fact]:
    """The verdict and figures, as above the report; what was recorded, and what ran."""
    facts, headline = run.summary, run.headline
    yield Fact("run", " · ".join(shorten(fact, _NAME_WIDTH) for fact in headline.facts))
    yield Fact("verdict", headline.verdict)
    for name, value, about in headline.figures:
        yield Fact(name[0].lower() + name[1:], f"{value}: {about}")
    yield from recorded_facts(facts.recorded)
    for mode, kind, what, counted, us in kind_rows(facts):
        text = f"{counted.executions:,} executions"
        text += "" if us is None else f", {duration(us)} in all"
        if kind == "op":
            rewritten = facts.mode(mode).rewritten.executions
            text += f", {rewritten:,} on {whose(facts)} kernels"
        yield Fact(f"{mode} {what}", text)
    called = facts.functions.filter(pl.col("calls") > 0)
    named = [
        f"{shorten(function or '?', _NAME_WIDTH)} {'' if uid is None else f'{uid} '}"
        f"({count_of(calls, 'call')})"
        for function, uid, calls in called.select("function", "function_uid", "calls").rows()
    ]
    if named:
        yield Fact("functions", first(named, _FUNCTIONS_SHOWN))
