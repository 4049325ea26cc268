"""Print the man page, made of the pages of `tflogscope --help` and `tflogscope COMMAND --help`.

    python tools/man.py > ~/.local/share/man/man1/tflogscope.1

The pages are aligned in columns, so they are kept line by line.
"""

from __future__ import annotations

from collections.abc import Iterator

from typer.testing import CliRunner

import tflogscope
from tflogscope.cli.app import COMMANDS, app

COLUMNS = 73  # man indents by 7


def help_of(*command: str) -> list[str]:
    """The lines of a help page."""
    words = [*command, "--help"]
    shown = CliRunner().invoke(app, words, prog_name="tflogscope", terminal_width=COLUMNS)
    return shown.stdout.strip().splitlines()


def escaped(line: str) -> str:
    r"""A line of text for roff: `-` is a hyphen there, and `.` or `'` at its start a request."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def section(title: str, lines: list[str]) -> Iterator[str]:
    """Lines as they are, below a heading."""
    yield from (f'.SH "{escaped(title)}"', ".nf", *map(escaped, lines), ".fi")


def page() -> Iterator[str]:
    """The man page, line by line."""
    yield f'.TH TFLOGSCOPE 1 "" "tflogscope {tflogscope.__version__}"'
    yield ".SH NAME"
    yield r"tflogscope \- says which ops of a TensorFlow log ran eagerly, in graphs and on oneDNN"
    yield from section("TFLOGSCOPE", help_of())
    for name in COMMANDS:
        yield from section(f"TFLOGSCOPE {name.upper()}", help_of(name))
    yield from section("TFLOGSCOPE GRAMMAR CHECK", help_of("grammar", "check"))


if __name__ == "__main__":
    print("\n".join(page()))
