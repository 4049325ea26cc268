"""Where an output goes, and in which format: what -o, --format and --force say."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tflogscope.errors import OutputError, UsageError
from tflogscope.escapes import safe
from tflogscope.exports.atomic import atomic_file, refuse_bad_target
from tflogscope.exports.formats import FORMATS, format_of_file
from tflogscope.grammar.load import packaged_toml
from tflogscope.sources.discover import is_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    import polars as pl

# Which log it is: most are read one at a time.
_LAST_ON_SCREEN = "source"


class Target(NamedTuple):
    """A file, or standard output."""

    path: str | None  # None: standard output
    force: bool

    def opened(self) -> AbstractContextManager[BinaryIO]:
        """The place to write to. Raises OutputError if that fails; of a file, then nothing is."""
        return standard_output() if self.path is None else atomic_file(self.path, force=self.force)


def target(output: str | None, *, force: bool, inputs: list[str], file: str = "") -> Target:
    """Decide where an output goes, before any log is read.

    Args:
        output: what -o names; None or `-` is standard output.
        force: replace an existing file.
        inputs: the logs, none of which may be the output.
        file: such as one may name for what is not for a terminal.

    Raises:
        UsageError: standard output is a terminal, and the output is not for one.
        OutputError: the file exists, is an input, or can't be made.
    """
    if output is None or output == "-":
        if file and sys.stdout.isatty():
            raise UsageError("refusing to print this to a terminal", None, f"Use -o {file}.")
        return Target(None, force)
    refuse_input(output, inputs)
    refuse_bad_target(output, force=force)
    return Target(output, force)


class Destination(NamedTuple):
    """A place for one table."""

    target: Target
    format: str

    @property
    def is_shown(self) -> bool:
        """Whether it is for eyes, on standard output."""
        return self.target.path is None and self.format == "table"

    def send(self, frame: pl.DataFrame, table: str, top: int | None = None) -> None:
        """Write the table; `top`: its first rows alone.

        Raises:
            OutputError: it can't be written; of a file, then nothing is.
        """
        if self.is_shown:
            print_text(self._drawn(frame, table, top))
            return
        with self.target.opened() as stream:
            if self.format == "table":
                stream.write(self._drawn(frame, table, top).encode())
            else:
                FORMATS[self.format].write(frame[:top], stream, table)

    def _drawn(self, frame: pl.DataFrame, table: str, top: int | None) -> str:
        from tflogscope.views.table import frame_document, ops_on_screen
        from tflogscope.views.terminal import drawn

        if table == "ops":
            frame = ops_on_screen(frame)
        frame = frame[:top]
        wanted = ("run", *packaged_toml("sentences/columns.toml")["first-on-screen"].get(table, ()))
        first = [name for name in wanted if name in frame.columns]
        rest = [name for name in frame.columns if name not in first]
        rest.sort(key=lambda name: name == _LAST_ON_SCREEN)
        document = frame_document(frame.select(first + rest))
        return drawn(document, to_file=self.target.path is not None)


def destination(
    output: str | None, chosen: str | None, *, force: bool, inputs: list[str]
) -> Destination:
    """Decide where a table goes, before any log is read.

    Args:
        output: what -o names; None or `-` is standard output.
        chosen: what --format names.
        force: replace an existing file.
        inputs: the logs, none of which may be the output.

    Raises:
        UsageError: unknown suffix, or a binary format on a terminal.
        OutputError: the file exists, is an input, or can't be made.
    """
    if output is None or output == "-":
        terminal = sys.stdout.isatty()
        name = chosen or ("table" if terminal else "csv")
        if terminal and name in FORMATS and FORMATS[name].binary:
            raise UsageError(f"{name} is binary", "standard output", "Use -o FILE.")
    else:
        name = chosen or format_of_file(output).name
    return Destination(target(output, force=force, inputs=inputs), name)


def refuse_input(output: str, inputs: list[str]) -> None:
    """Never replace a log with what is made of it, not even if asked to.

    Raises:
        OutputError: the output is one of the inputs, or is in one that is a directory.
    """
    if is_source(output, inputs):
        raise OutputError("this is the log itself", output, "Use another file with -o.")


def say(text: str) -> None:
    """Say something on standard error, which is for all but data; names in it have no effect."""
    print(safe(f"tflogscope: {text}"), file=sys.stderr)  # noqa: T201


def choose_json(format_name: str | None, *, as_json: bool) -> str | None:
    """The format that is named; `--json` is `--format json`.

    Raises UsageError if both are given, and differ.
    """
    if as_json and format_name not in (None, "json"):
        raise UsageError(f"--json and --format {format_name} can't be combined", None, "Use one.")
    return "json" if as_json else format_name


def print_text(text: str) -> None:
    """Print what is for eyes, in the terminal's encoding.

    Raises:
        OutputError: it can't be written.
    """
    with standard_output() as stream:
        stream.write(text.encode(sys.stdout.encoding, sys.stdout.errors or "strict"))


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output for bytes.

    Raises:
        OutputError: it can't be written, as on a full disk.
        BrokenPipeError: its reader went away.
    """
    try:
        sys.stdout.flush()
        stream = sys.stdout.buffer
        if isinstance(stream, io.RawIOBase):  # of PYTHONUNBUFFERED: it may write less than is given
            with open(stream.fileno(), "wb", closefd=False) as whole:
                yield whole
        else:
            yield stream
            stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = f"can't write: {error.strerror or error}"
        raise OutputError(reason, "standard output") from error
