"""`tflogscope grammar`: for grammar files of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tflogscope.cli.options import argument
from tflogscope.cli.output import print_text
from tflogscope.errors import GrammarError, InputError
from tflogscope.escapes import pointed, safe
from tflogscope.model.common.figures import count_of

FAILED = 1
_AROUND = 200  # characters of a sample shown on each side of a place: most lines are shorter

app = typer.Typer(name="grammar", add_completion=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def grammar(context: typer.Context) -> None:
    """Test your own grammar files, which add messages to parse."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


@app.command()
def check(
    files: Annotated[list[Path], argument("FILE", "Your own grammar files (TOML).")],
) -> None:
    """Test each sample in grammar files against its template.

    Shows where a sample departs from its template, and what was expected there. Files may build on
    each other and on the built-in ones. The exit code is 1 if a sample doesn't match.

    \b
    Examples:
      tflogscope grammar check own/executor.toml
      tflogscope analyze run.log --grammar own
    """
    from tflogscope.grammar.check import misfits
    from tflogscope.grammar.compiled import compile_grammar
    from tflogscope.grammar.load import read_own

    try:
        content = read_own({str(file): file for file in files})
        compile_grammar(content.grammar)  # what the scanner can't read is wrong, too
        wrong = list(misfits(*content))
    except GrammarError as error:  # here the files are the input
        raise InputError(error.what, error.where, error.hint) from error
    lines = []
    for miss in wrong:
        shown = safe(miss.line) if miss.place is None else pointed(miss.line, miss.place, _AROUND)
        lines += [safe(f"{miss.where}: {miss.why}"), *(f"  {line}" for line in shown.split("\n"))]
    tried = sum(len(message.samples) for message in content.messages)
    tried += sum(len(prefix.samples) for prefix in content.prefixes)
    tried += sum(len(envelope.samples) for envelope in content.envelopes)
    doubt = (
        f"{len(wrong):,} {'does' if len(wrong) == 1 else 'do'} not match" if wrong else "all match"
    )
    print_text("\n".join([*lines, f"{count_of(tried, 'sample')} tested: {doubt}", ""]))
    if wrong:
        raise typer.Exit(FAILED)
