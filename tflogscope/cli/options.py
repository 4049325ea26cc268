"""How commands declare their arguments and options, and those that several of them have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tflogscope.exports.formats import FORMATS


def option(usage: str, about: str, **more: Any) -> Any:
    """An option: its names and the word for its value (`--output -o FILE`), and what it is for."""
    words = usage.split()
    names = [word for word in words if word.startswith("-")]
    value = next((word for word in words if word not in names), None)
    return typer.Option(*names, metavar=value, help=about, **more)


def argument(value: str, about: str) -> Any:
    """An argument: the word for its value, and what it is."""
    return typer.Argument(metavar=value, help=about, show_default=False)


Logs = Annotated[
    list[str] | None,
    argument(
        "LOG",
        "Log files (compressed or not), directories of logs, - for standard input, "
        "or STORE#ID for a run saved by collect. Default: standard input if it is not a terminal.",
    ),
]
OwnGrammar = Annotated[
    str | None,
    option(
        "--grammar DIR",
        "Also read your own grammar files from this directory (see tflogscope grammar check).",
    ),
]
Where = Annotated[
    str | None,
    option(
        "--where CONDITION",
        "Keep only rows that match this SQL condition: \"op = 'MatMul' AND mode = 'graph'\".",
    ),
]
Sort = Annotated[
    str | None,
    option("--sort COLUMN", "Sort by this column: numbers descending, names and lines ascending."),
]
Top = Annotated[int | None, option("--top N", "Keep only the first N rows.", min=1)]
Output = Annotated[
    str | None,
    option(
        "--output -o FILE", "Write to this file, in the format of its suffix; - is standard output."
    ),
]
PageOutput = Annotated[
    str | None, option("--output -o FILE", "Write an HTML page to this file; - is standard output.")
]
if TYPE_CHECKING:
    _Format = str
else:
    _Format = Literal[(*FORMATS, "table")]
FormatName = Annotated[
    _Format | None,
    option(
        "--format",
        "Output format. Default: by the file's suffix; a table on a terminal; CSV in a pipe.",
    ),
]
Force = Annotated[bool, option("--force", "Replace an existing file.")]
AsJson = Annotated[bool, option("--json", "Print one JSON object instead.")]
