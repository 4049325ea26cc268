"""What a notebook shows of a run: one small HTML table, and a picture of the run over time.

The log's names end in a page that runs scripts and, in Jupyter, typesets `$…$`, so each text goes
through one door, `_html`, and the whole is marked as no mathematics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from tflogscope.escapes import safe
from tflogscope.model.figures import count_of
from tflogscope.views.chart import timeline_svg, whole_activity
from tflogscope.views.pieces import whose
from tflogscope.views.table import duration
from tflogscope.views.text import shorten

if TYPE_CHECKING:
    from tflogscope.model.facts import Function, Mode, Recorded, Summary
    from tflogscope.model.headline import Headline
    from tflogscope.model.run import Run

_SOURCES_SHOWN = 5
_FUNCTIONS_SHOWN = 10
_NAME_WIDTH = 60
_LEFT = 'style="text-align: left"'
# MathJax leaves what has these classes alone; its \href would be a way to run a script.
_NO_MATHEMATICS = "tex2jax_ignore mathjax_ignore"


def notebook_html(run: Run) -> str:
    """Return what a notebook shows of a run: the table of `run_html`, and the run over time."""
    return f"{run_html(run)}\n{timeline_svg(run, whole_activity(run))}"


def run_html(run: Run) -> str:
    """Return what was recorded, how much ran eagerly and in graphs, and the functions, as HTML."""
    facts = run.summary
    rows = [*_head(run.headline), *_recorded(facts.recorded)]
    rows += [*_modes(facts), *_functions(facts.functions)]
    # Notebooks align cells to the right, so that each has to say it.
    body = "\n".join(
        f"<tr><th {_LEFT}>{_html(name)}</th><td {_LEFT}>{_html(said)}</td></tr>"
        for name, said in rows
    )
    return (
        f'<table class="tflogscope {_NO_MATHEMATICS}">\n'
        f"<caption>tflogscope run</caption>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def _head(headline: Headline) -> Iterator[tuple[str, str]]:
    """The same as above the report."""
    yield "run", " · ".join(shorten(each, _NAME_WIDTH) for each in headline.facts)
    yield "verdict", headline.verdict
    for each in headline.figures:
        yield each.name[0].lower() + each.name[1:], f"{each.value}: {each.about}"


def _recorded(recorded: Recorded) -> Iterator[tuple[str, str]]:
    sources = recorded.sources
    yield "log", _first(sources, _SOURCES_SHOWN)
    level = recorded.vlog_level
    said = [
        f"{recorded.lines:,} lines",
        f"TensorFlow {recorded.tensorflow_dialect or 'records: none'}",
        "VLOG level not known" if level is None else f"VLOG level {level}",
        f"oneDNN {recorded.onednn_version or 'version not known'}",
    ]
    if recorded.unknown:
        said.append(f"{recorded.unknown:,} unknown records")
    yield "recorded", ", ".join(said)


def _modes(facts: Summary) -> Iterator[tuple[str, str]]:
    labels: dict[tuple[Mode, str], str] = {
        ("eager", "op"): "eager ops",
        ("eager", "call"): "calls of graph functions",
        ("graph", "op"): "graph nodes",
    }
    for (mode, kind), label in labels.items():
        counted = facts.mode(mode).kinds.get(kind)
        if counted is None:
            continue
        said = f"{counted.executions:,} executions"
        total = facts.nested.outer_us if kind == "call" else counted.total_us
        if total is not None:
            said += f", {duration(total)} in all"
        if kind == "op":
            said += (
                f", {facts.mode(mode).rewritten.executions:,} on {whose(facts.rewriters)} kernels"
            )
        yield label, said


def _functions(functions: list[Function]) -> Iterator[tuple[str, str]]:
    called = [entry for entry in functions if entry.calls]
    if called:
        named = (
            f"{entry.function or '?'} {_uid(entry.function_uid)}({count_of(entry.calls, 'call')})"
            for entry in called
        )
        yield "functions", _first(list(named), _FUNCTIONS_SHOWN)


def _uid(uid: int | None) -> str:
    return "" if uid is None else f"{uid} "


def _first(names: Iterable[str], count: int) -> str:
    every = list(names)
    more = f" and {len(every) - count} more" if len(every) > count else ""
    return ", ".join(shorten(name, _NAME_WIDTH) for name in every[:count]) + more


def _html(text: str) -> str:
    """A text that has no effect in a page: no markup, no control characters."""
    return escape(safe(text))
