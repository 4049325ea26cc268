"""`tflogscope benchdnn`: the primitives as lines for oneDNN's benchdnn."""

from __future__ import annotations

import typer

from tflogscope.cli.inputs import chosen, named_inputs, opened
from tflogscope.cli.options import Force, Logs, Output, OwnGrammar, Where
from tflogscope.cli.output import target
from tflogscope.version import MADE_BY


def benchdnn(
    logs: Logs = None,
    *,
    where: Where = None,
    output: Output = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Write the oneDNN primitives as benchdnn cases.

    Writes one line per distinct problem, most expensive first, below a comment with count and time.
    Problems that benchdnn can't express become comments with the reason.

    \b
    Examples:
      tflogscope benchdnn run.log -o cases.txt
      tflogscope benchdnn run.log --where "primitive = 'matmul'"
      grep -v '^#' cases.txt | xargs -L 1 ./benchdnn --mode=P
    """
    inputs = named_inputs(logs)
    place = target(output, force=force, inputs=inputs)
    with opened(inputs, grammar) as run:
        primitives = chosen(run.primitives, where)
    from tflogscope.exports.benchdnn import benchdnn_cases, write_benchdnn

    cases = benchdnn_cases(primitives)
    with place.opened() as stream:
        write_benchdnn(cases, stream, MADE_BY)
    if left_out := cases["reason"].count():
        text = f"No case for {left_out:,} of {cases.height:,} problems: see the comments."
        typer.echo(text, err=True)
