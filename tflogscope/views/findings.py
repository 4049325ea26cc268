"""Findings, in brief and in full, and answers to what people ask of such a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from tflogscope.model.common.facts import Entry, Summary
from tflogscope.model.common.figures import (
    count_of,
    percent,
    share_after_start_up,
    span_of_run,
    spoken,
    whole_of,
)
from tflogscope.model.common.sentences import rows as sentences
from tflogscope.model.common.source_text import source_text
from tflogscope.model.overview.headline import places_of
from tflogscope.model.run import Run
from tflogscope.views import document as doc
from tflogscope.views.text import shorten

Row = Mapping[str, Any]
_SHOWN = 3  # findings in words
_EVIDENCE_SHOWN = 4  # of the first answer; of each other one the first
_NAME = 44  # cells
_SEVERITIES = ("error", "warning", "note")
# Findings that say why ops run eagerly.
_SAY_WHY = frozenset(
    {"run-eagerly", "eager-training-step", "eager-steady-state", "no-function", "py-function"}
)


def snippet(run: Run) -> list[doc.Fact]:
    """The lines of the program that the verdict names, as they are written there."""
    places = places_of(run.summary, run).items()
    sources = [(name, place, source_text(place, run.recorded_as)) for name, place in places]
    return [doc.Fact(name, at(place, source)) for name, place, source in sources if source]


def findings_section(run: Run, most: int = _SHOWN) -> doc.Node:
    """The gravest in words, other errors and warnings in a line each, notes by their names.

    `most`: how many are in words. A note that the verdict names is no other note.
    """
    findings_ = run.findings.hstack(run.avoidable).to_dicts()
    if not findings_:
        text = "No problems found."
        if not run.summary.eager.kinds and not run.summary.graph.kinds:
            text = "The log shows no execution, so there is nothing to analyze."
        return doc.Full(lambda: [doc.Section("Findings", [doc.Paragraph(text)], "findings")])
    # As in the verdict: one-time costs come after repeated ones.
    findings_.sort(key=lambda row: (_SEVERITIES.index(row["severity"]), row["id"] == "first-call"))
    both = (
        doc.Brief([*_brief(findings_, run, most)]),
        doc.Full(lambda: [doc.Findings(findings(findings_, run))]),
    )
    return doc.Section("Findings", both, "findings", brief=" (in full: tflogscope explain LOG)")


def _brief(table: Sequence[Row], run: Run, most: int) -> Iterator[doc.Node]:
    several = len(run.summary.recorded.sources) > 1  # then they are named
    lead = run.summary.lead and run.summary.lead.id
    serious, others = list[Row](), list[Row]()
    for row in table:
        is_note = row["severity"] == "note" and row["id"] != lead
        (others if is_note else serious).append(row)
    shown = findings(serious[:most], run)
    for number, row in enumerate(serious):
        told = _told(row, serious[0])
        in_full = number < most and not told
        details = [*_place(shown[number], row, several=several)] if in_full else []
        is_error = row["severity"] == "error"
        line = ", log line ", doc.Line(row["line"], row["source"]), " (cause of the crash)" * told
        where = "" if details or row["line"] is None else line
        heading = _heading(row, run, titled=not details)
        head, mark = (heading, where), "! " if is_error else "- "
        yield doc.Item(head, details, mark=mark, tone="error" if is_error else "")
    notes = [sentences("finding")[row["id"]].title for row in others]
    if notes:
        alike = Counter(notes).items()
        texts = (title + f" ({count} notes)" * (count > 1) for title, count in alike)
        yield doc.Item(f"{count_of(len(notes), 'note')}: {'; '.join(texts)}")


def _told(row: Row, first: Row) -> bool:
    """Whether a crash, which comes first, is of this failure: its sentence has the message."""
    of_crash = (first["id"], row["id"]) == ("crashed", "failed-ops")
    return of_crash and row["python"] == first["python"]


def _heading(row: Row, run: Run, *, titled: bool) -> str:
    """What a finding is, the name it is about, and its share of the run, as far as it is known."""
    subject, stake = row["subject"], _stake(row, run)
    no_name = not subject or subject == row["id"] or subject.startswith("the ")  # the program
    name = "" if no_name else shorten(subject, _NAME)
    if titled:  # no sentence follows
        stake = f"{sentences('finding')[row['id']].title}{'; ' * bool(stake)}{stake}"
    return f"{row['id']}{f' ({name})' * bool(name)}{': ' * bool(stake)}{stake}"


def _place(finding: doc.Finding, row: Row, *, several: bool) -> Iterator[doc.Node]:
    """The line of the program as it is written there, the sentence, and what to change."""
    if row["python"]:
        yield doc.Fact("at", at(row["python"], finding.source))
    text: doc.Text = row["text"]
    if row["line"] is not None:
        place = f" of {row['source']}" if several else ""
        text = text, " See log line ", doc.Line(row["line"], row["source"]), f"{place}."
    yield doc.Paragraph(text)
    if row["advice"]:
        yield doc.Fact("fix", row["advice"])


def at(python: str, source: str | None) -> doc.Text:
    """A line of the program, and its text if that is known: `train.py:31 │ y = step(x)`."""
    return doc.Code(python), (" │ ", doc.Code(source)) if source else ""


def _stake(row: Row, run: Run) -> str:
    us = row["time_us"]
    if us is None:
        return ""
    of = whole_of(us, row["repeats_us"], run.repeated, span_of_run(run.time))
    bound = "at most " * sentences("finding")[row["id"]].at_most
    if of is None:
        return f"can save {bound}{spoken(us)}"
    stake, whole = f"can save {bound}{spoken(of.part)}", spoken(of.us)
    whole = f"{whole} repeated time" if of.in_loops else f"the {whole} run"
    once = (
        f", plus {spoken(us - of.part)} of one-time work" if spoken(of.part) != spoken(us) else ""
    )
    rest = None if of.in_loops else share_after_start_up(of.part, run.time)
    share, later = percent(of.part, of.us), percent(rest, 1) if rest else None
    besides = f"; {later} without start-up" if later not in (None, share) else ""
    return f"{stake} of {whole} ({share}{besides}){once}"


def findings(table: Sequence[Row], run: Run) -> list[doc.Finding]:
    """Rows of the table `findings`, in full."""
    return [
        doc.Finding(
            row["severity"],
            row["id"],
            sentences("finding")[row["id"]].title,
            row["text"],
            row["advice"],
            _stake(row, run),
            row["python"],
            source_text(row["python"], run.recorded_as),
            None if row["line"] is None else doc.Line(row["line"], row["source"]),
            [*_details(row, run)],
        )
        for row in table
    ]


def _details(row: Row, run: Run) -> Iterator[doc.Node]:
    """The lines that show it, of the log and the program, and where in TensorFlow it is decided."""
    if row["lines"]:
        numbers = [*map(int, row["lines"].split(";"))]
        yield doc.Fact("log", doc.log_lines(numbers, source=row["source"]))
    if row["python"]:
        yield doc.Fact("at", at(row["python"], source_text(row["python"], run.recorded_as)))
    yield doc.Fact("source", sentences("finding")[row["id"]].where)


# ---- answers -------------------------------------------------------------------------------------

_EXAMPLES = doc.columns("examples")


def answers_section(facts: Summary) -> Sequence[doc.Node]:
    """The first answer with a table of its evidence, the others with one line of it."""
    several = len(facts.recorded.sources) > 1
    children: list[doc.Node] = []
    for number, answer in enumerate(facts.answers):
        title = sentences("answer")[answer.id].title
        shown = doc.Folded(title, (_answer(answer, several=several, briefly=number > 0),))
        if answer.id == "both-modes" and not _is_asked(answer, facts):
            where = f"tflogscope explain LOG --op {answer.evidence[0].op}"
            line = f"{answer.text.partition('.')[0]}, in different executions. Details: {where}"
            children += [doc.Brief([doc.Item(line)]), doc.Full(partial(list, [shown]))]
        else:
            children.append(shown)
    return [doc.Section("Explanation", children, "answers")] if children else []


def _is_asked(answer: Entry, facts: Summary) -> bool:
    """Whether ops look as if they had moved from one mode to the other.

    So they do where one ran eagerly first, and only in a graph later, unless a finding says why ops
    run eagerly.
    """
    ids = facts.findings.filter(pl.col("severity") != "note")["id"]
    return not _SAY_WHY.intersection(ids) and any(
        op.eager_lines and op.graph_line and max(op.eager_lines) < op.graph_line
        for op in answer.evidence
    )


def _answer(answer: Entry, *, several: bool, briefly: bool) -> doc.Item:
    first = answer.evidence[0]
    line = first.eager_lines[0] if first.eager_lines else first.graph_line
    text: doc.Text = answer.text
    if briefly and line is not None:
        place = f" of {first.source}" if several else ""
        text = answer.text, " See log line ", doc.Line(line, first.source), f"{place}."
    examples = [_example(op, several=several) for op in answer.evidence]
    shown: list[doc.Node] = [doc.Full(lambda: [doc.Table(_EXAMPLES, examples, "Examples")])]
    if not briefly:
        shown.append(doc.Brief([doc.Table(_EXAMPLES, examples[:_EVIDENCE_SHOWN], titles=False)]))
    return doc.Item(text, shown)


def _example(example: Entry, *, several: bool) -> Row:
    row: dict[str, Any] = {"op": example.op or "(truncated)", "eager": None, "graph": None}
    if example.eager_lines:
        first, last = (doc.Line(line, example.source) for line in example.eager_lines)
        same = ("eager: log line ", first)
        row["eager"] = same if first == last else ("eager: log lines ", first, "–", last)
    if example.graph_line:
        line = doc.Line(example.graph_line, example.source)
        row["graph"] = "graph: from log line ", line
    return row | {"source": example.source if several else None}
