"""`tflogscope diff`: what changed between two runs."""

from __future__ import annotations

from typing import Annotated

from tflogscope.cli.inputs import opened
from tflogscope.cli.options import AsJson, OwnGrammar, argument
from tflogscope.cli.output import print_text


def diff(
    before: Annotated[str, argument("A", "The log of the run before.")],
    after: Annotated[str, argument("B", "The log of the run after.")],
    *,
    as_json: AsJson = False,
    grammar: OwnGrammar = None,
) -> None:
    """Say what changed between two runs.

    Which ops run in another mode or as another kernel, what is new or gone, what is traced more
    often, what got slower. Functions are matched by name, whatever number they have.

    \b
    Examples:
      tflogscope diff before.log after.log
      tflogscope diff before.log after.log --json | jq .nodes
    """
    from tflogscope.exports.json_text import json_object
    from tflogscope.model.difference import difference
    from tflogscope.views.difference import difference_document
    from tflogscope.views.terminal import drawn

    with opened([before], grammar) as first, opened([after], grammar) as second:
        facts = difference(first, second)
    print_text(json_object(facts) if as_json else drawn(difference_document(facts)))
