"""`tflogscope diff`: what changed between two runs."""

from __future__ import annotations

from typing import Annotated

from tflogscope.cli.inputs import opened
from tflogscope.cli.options import AsJson, Force, OwnGrammar, PageOutput, argument
from tflogscope.cli.output import print_text, target
from tflogscope.errors import UsageError
from tflogscope.sources.discover import is_pipe, is_source


def diff(
    before: Annotated[str, argument("A", "The log of the earlier run.")],
    after: Annotated[str, argument("B", "The log of the later run.")],
    *,
    output: PageOutput = None,
    force: Force = False,
    as_json: AsJson = False,
    grammar: OwnGrammar = None,
) -> None:
    """Show what changed between two runs.

    Compares modes, kernels, traces, times and findings. Functions are matched by name, ignoring
    the number at its end.

    \b
    Examples:
      tflogscope diff before.log after.log
      tflogscope diff before.log after.log -o diff.html
      tflogscope diff before.log after.log --json | jq .nodes
    """
    from tflogscope.exports.json_text import json_object
    from tflogscope.model.overview.difference import difference
    from tflogscope.views.difference import difference_document
    from tflogscope.views.terminal import drawn

    if is_pipe(before) and (after == before or is_source(after, [before])):
        raise UsageError("a pipe can only be read once", after, "Pass two logs.")
    place = None
    if output is not None:
        place = target(output, force=force, inputs=[before, after], file="diff.html")
    with opened([before], grammar) as first, opened([after], grammar) as second:
        facts = difference(first, second)
        if place is not None:
            from tflogscope.views.report.comparison import comparison_page

            text = comparison_page(first, second, facts)
            with place.opened() as stream:
                stream.write(text.encode())
            return
    print_text(json_object(facts) if as_json else drawn(difference_document(facts)))
