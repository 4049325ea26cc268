"""`tflogscope explain`: why ops ran where they ran."""

from __future__ import annotations

from typing import Annotated

from typer import BadParameter

from tflogscope.cli.inputs import named_inputs, opened
from tflogscope.cli.options import AsJson, Logs, OwnGrammar, option
from tflogscope.cli.output import print_text
from tflogscope.digits import whole
from tflogscope.errors import UsageError

_NOTHING = "No problems found.\n"
_NO_EXECUTION = (
    "The log shows no execution, so there is nothing to analyze. Record with "
    "TF_CPP_MAX_VLOG_LEVEL=2, or use tflogscope record.\n"
)


def _line(typed: str) -> int:
    """A line's number, also as screens print it."""
    number = whole(typed.replace(",", ""))
    if not number:
        at = f". For a line of the program: --at {typed}" if typed.rpartition(":")[0] else ""
        raise BadParameter(f"{typed!r} is not a line number (1 or higher){at}")
    return number


def explain(
    logs: Logs = None,
    *,
    op: Annotated[str | None, option("--op OP", "Explain an op type: MatMul.")] = None,
    node: Annotated[
        str | None, option("--node NODE", "Explain a graph node, by its name or the end of it.")
    ] = None,
    line: Annotated[
        int | None,
        option("--line N", "Explain a line of the log: 5257 or 5,257.", parser=_line),
    ] = None,
    at: Annotated[
        str | None,
        option("--at LINE", "Explain what a line of the program ran: train.py:31."),
    ] = None,
    primitive: Annotated[
        str | None,
        option(
            "--primitive NAME", "Explain a oneDNN primitive such as matmul, problem by problem."
        ),
    ] = None,
    as_json: AsJson = False,
    grammar: OwnGrammar = None,
) -> None:
    """Explain an op, a node, a line, or all findings.

    Shows why an op ran eagerly or in a graph, and on which kernel: the evidence, what would change
    it, and where TensorFlow decides it. Without --op, --node, --line, --at or --primitive, explains
    all findings of the run.

    \b
    Examples:
      tflogscope explain run.log --op AddV2
      tflogscope explain run.log --node dense/MatMul
      tflogscope explain run.log --line 4711
      tflogscope explain run.log --at train.py:31
      tflogscope explain run.log --primitive matmul
    """
    choices = (op, node, line, at, primitive)
    if sum(choice is not None for choice in choices) > 1:
        raise UsageError(
            "--op, --node, --line, --at and --primitive can't be combined",
            "explain",
            "Use one.",
        )
    with opened(named_inputs(logs), grammar, again=True) as run:
        # Not before: polars is imported while the log is scanned.
        from tflogscope.exports.json_text import json_object
        from tflogscope.views.document import Findings
        from tflogscope.views.explain import explain_document
        from tflogscope.views.findings import findings
        from tflogscope.views.recorded import busy_note
        from tflogscope.views.terminal import drawn

        if primitive is not None:
            from tflogscope.views.primitive import primitive_document

            facts = run.explain(primitive=primitive)
            document = primitive_document(facts)
        elif choices != (None,) * len(choices):
            facts = run.explain(op=op, node=node, line=line, at=at)
            document = explain_document(facts)
        else:
            facts = {"findings": run.findings.to_dicts()}
            table = run.findings.hstack(run.avoidable).to_dicts()
            document = [*busy_note(run.summary), Findings(findings(table, run))]
        text = json_object(facts) if as_json else drawn(document)
        if not text:
            shows_any = run.ops.height or run.primitives.height
            text = _NOTHING if shows_any else _NO_EXECUTION
    print_text(text)
