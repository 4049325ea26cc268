"""`tflogscope analyze`: the whole answer on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from tflogscope.cli.inputs import are_together, named_inputs, opened_each, stored
from tflogscope.cli.options import AsJson, Logs, OwnGrammar, option
from tflogscope.cli.output import choose_json, print_text

if TYPE_CHECKING:
    from tflogscope.model.calls.parts import Part
    from tflogscope.model.run import Run
    from tflogscope.views.document import Node


def analyze(
    logs: Logs = None,
    *,
    format_name: Annotated[
        Literal["text", "markdown", "json"] | None,
        option("--format", "Output format. Default: text."),
    ] = None,
    as_json: AsJson = False,
    full: Annotated[
        bool,
        option("--full", "Print all sections: functions, limits, what was recorded, and more."),
    ] = False,
    grammar: OwnGrammar = None,
) -> None:
    """Summarize a run in at most 40 lines.

    Shows the biggest problem and its fix, where the time went, findings, the ops and the lines of
    the program that take most time, and whether oneDNN is on. --full adds eager and graph
    executions, functions and their traces, what the log lacks, and how it was recorded. Markdown
    and JSON always include all of it.

    \b
    Examples:
      tflogscope analyze run.log
      tflogscope analyze run.log --format markdown >> "$GITHUB_STEP_SUMMARY"
      zcat run.log.gz | tflogscope analyze --json | jq .
    """
    form = choose_json(format_name, as_json=as_json)
    with opened_each(named_inputs(logs), grammar) as (parts, runs):
        # Not before: polars is imported while the log is scanned.
        from tflogscope.views.analyze import parts_json, summary_json

        if form == "json":
            from tflogscope.exports.json_text import json_object

            facts = [
                summary_json(run) | parts_json(part, len(parts))
                for part, run in zip(parts, runs, strict=True)
            ]
            text = json_object(facts[0] if len(facts) == 1 else {"runs": facts})
        else:
            brief = not full and form != "markdown"
            text = "\n".join(
                _drawn(document, form, brief=brief)
                for document in _documents(parts, runs, brief=brief)
            )
    print_text(text)


def _documents(parts: list[Part], runs: Iterator[Run], *, brief: bool) -> Iterator[Sequence[Node]]:
    """What is said of each run; and of the processes of one input, what differs between them."""
    from tflogscope.stores.ranks import rank_facts
    from tflogscope.views.analyze import analyze_document, first_screen, part_heading
    from tflogscope.views.ranks import ranks_document

    document_of = first_screen if brief else analyze_document

    documents: list[Sequence[Node]] = []

    def shown() -> Iterator[Run]:
        for number, (part, run) in enumerate(zip(parts, runs, strict=True)):
            documents.append([*part_heading(part, number, len(parts)), *document_of(run)])
            yield run

    if not are_together(parts):
        for _ in shown():
            yield documents.pop()
        return
    with stored(shown()) as store:
        yield from documents
        if groups := rank_facts(store):
            yield ranks_document(groups)


def _drawn(document: Sequence[Node], form: str | None, *, brief: bool) -> str:
    if form == "markdown":
        from tflogscope.views.markdown import markdown

        return markdown(document)
    from tflogscope.views.terminal import drawn

    return draw_first_screen(document) if brief else drawn(document)


def draw_first_screen(document: Sequence[Node]) -> str:
    """The text of a first screen, cut to its lines."""
    from tflogscope.views.analyze import FIRST_SCREEN
    from tflogscope.views.terminal import drawn_within

    return drawn_within(document, FIRST_SCREEN, "Full analysis: tflogscope analyze --full LOG")
