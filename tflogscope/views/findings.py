"""Findings, in brief and in full, and answers to what people ask of such a log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.model.figures import count_of, duration
from tflogscope.model.sentences import rows as sentences
from tflogscope.model.source_text import source_text
from tflogscope.views import document as doc
from tflogscope.views.document import Column
from tflogscope.views.text import shorten

if TYPE_CHECKING:
    from tflogscope.model.facts import Answer, Example, Summary
    from tflogscope.model.run import Run

Row = Mapping[str, Any]
_SHOWN = 3  # findings in words
_EVIDENCE_SHOWN = 4  # of the first answer; of each other one the first
_NAME = 44  # cells


def findings_section(run: Run) -> doc.Node:
    """The gravest in words, other errors and warnings in a line each, notes by their names."""
    rows = run.findings.to_dicts()
    if not rows:
        said = "None."
        if not run.summary.eager.kinds and not run.summary.graph.kinds:
            said = "The log shows no execution, so nothing can be found in it."
        return doc.Full(lambda: [doc.Section("Findings", [doc.Paragraph(said)], "findings")])
    several = len(run.summary.recorded.sources) > 1
    full = doc.Full(lambda: [doc.Findings(findings(rows, run.recorded_as))])
    both = (doc.Brief([*_brief(rows, several=several)]), full)
    return doc.Section("Findings", both, "findings", brief=" (in full: tflogscope explain LOG)")


def _brief(rows: Sequence[Row], *, several: bool) -> Iterator[doc.Node]:
    """`several`: sources, so they are named."""
    serious = [row for row in rows if row["severity"] != "note"]
    for number, row in enumerate(serious):
        is_error = row["severity"] == "error"
        said = _sentence(row, several=several) if number < _SHOWN else _in_a_line(row)
        change = [doc.Fact("change", row["advice"])] if number < _SHOWN and row["advice"] else []
        mark = "! " if is_error else "- "
        yield doc.Item(said, change, mark=mark, tone="error" if is_error else "")
    notes = [row["id"] for row in rows if row["severity"] == "note"]
    if notes:
        yield doc.Item(f"{count_of(len(notes), 'note')}: {', '.join(dict.fromkeys(notes))}")


def _sentence(row: Row, *, several: bool) -> doc.Text:
    if row["line"] is None:
        return str(row["text"])
    place = f" of {row['source']}" if several else ""
    python = "" if row["python"] is None else f", {row['python']} in the program"
    return row["text"], " See line ", doc.Line(row["line"], row["source"]), f"{place}{python}."


def _in_a_line(row: Row) -> doc.Text:
    """What a finding is, what it is about, and the time at stake, as far as it is known."""
    subject = f", {shorten(row['subject'], _NAME)}" if row["subject"] else ""
    line = "" if row["line"] is None else (", line ", doc.Line(row["line"], row["source"]))
    return f"{row['id']}{subject}", f"{', ' * bool(_stake(row))}{_stake(row)}", line


def _stake(row: Row) -> str:
    return "" if row["time_us"] is None else f"{duration(row['time_us'])} at stake"


def findings(
    rows: Sequence[Row], recorded_as: Mapping[str, Any] | None = None
) -> list[doc.Finding]:
    """Rows of the table `findings`, in full; with `recorded_as`, lines of the program, too."""
    return [
        doc.Finding(
            row["severity"],
            row["id"],
            sentences("finding")[row["id"]].title,
            row["text"],
            _stake(row),
            row["python"],
            source_text(row["python"], recorded_as),
            [*_details(row)],
        )
        for row in rows
    ]


def _details(row: Row) -> Iterator[doc.Node]:
    """The lines that show it, what to do, and where in TensorFlow it is decided."""
    if row["lines"]:
        lines: list[doc.Text] = []
        for line in row["lines"].split(";"):
            lines += [", "] * bool(lines) + [doc.Line(int(line), row["source"])]
        yield doc.Fact("lines", tuple(lines))
    if row["python"]:
        yield doc.Fact("program", row["python"])
    if row["advice"]:
        yield doc.Fact("change", row["advice"])
    yield doc.Fact("where", sentences("finding")[row["id"]].where)


# ---- answers -------------------------------------------------------------------------------------

_EXAMPLES = (
    Column("op", "op", "name"),
    Column("eager", "eager", tone="eager"),
    Column("graph", "graph", tone="graph"),
    Column("source", "source"),
)


def answers_section(facts: Summary) -> Sequence[doc.Node]:
    """The first answer with a table of its evidence, the others with one line of it."""
    several = len(facts.recorded.sources) > 1
    said = [
        doc.Folded(
            sentences("answer")[answer.id].title,
            (_answer(answer, several=several, briefly=number > 0),),
        )
        for number, answer in enumerate(facts.answers)
    ]
    return [doc.Section("What it means", said, "answers")] if said else []


def _answer(answer: Answer, *, several: bool, briefly: bool) -> doc.Item:
    first = answer.evidence[0]
    line = first.eager_lines[0] if first.eager_lines else first.graph_line
    text: doc.Text = answer.text
    if briefly and line is not None:
        place = f" of {first.source}" if several else ""
        text = answer.text, " See line ", doc.Line(line, first.source), f"{place}."
    rows = [_example(each, several=several) for each in answer.evidence]
    shown: list[doc.Node] = [doc.Full(lambda: [doc.Table(_EXAMPLES, rows, "Such as")])]
    if not briefly:
        shown.append(doc.Brief([doc.Table(_EXAMPLES, rows[:_EVIDENCE_SHOWN], titles=False)]))
    return doc.Item(text, shown)


def _example(example: Example, *, several: bool) -> Row:
    row: dict[str, Any] = {"op": example.op or "(cut off)", "eager": None, "graph": None}
    if example.eager_lines:
        first, last = (doc.Line(line, example.source) for line in example.eager_lines)
        same = ("eager on line ", first)
        row["eager"] = same if first == last else ("eager on lines ", first, "–", last)
    if example.graph_line:
        row["graph"] = "in a graph from line ", doc.Line(example.graph_line, example.source), " on"
    return row | {"source": example.source if several else None}
