"""`tflogscope diff`: what changed between two runs."""

from __future__ import annotations

from typing import Annotated

from tflogscope.cli.inputs import opened
from tflogscope.cli.options import AsJson, Force, OwnGrammar, argument, option
from tflogscope.cli.output import print_text, target
from tflogscope.errors import UsageError
from tflogscope.sources.discover import is_pipe, is_source


def diff(
    before: Annotated[str, argument("A", "The log of the run before.")],
    after: Annotated[str, argument("B", "The log of the run after.")],
    *,
    output: Annotated[
        str | None,
        option("--output -o FILE", "Write one HTML page to this file. - is standard output."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    grammar: OwnGrammar = None,
) -> None:
    """Say what changed between two runs.

    Which ops run in another mode or as another kernel, what is new or gone, what is traced more
    often, what got slower. Functions are matched by name, whatever number they have.

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
        raise UsageError("this is a pipe, which gives its text once", after, "Name two logs.")
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
