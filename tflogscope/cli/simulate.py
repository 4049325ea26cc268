"""`tflogscope simulate`: run a program on the reference runtime instead of TensorFlow."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import (
    AbstractContextManager,
    ExitStack,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
)
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from tflogscope.cli.options import Force, argument, option
from tflogscope.errors import OutputError, UsageError
from tflogscope.sources.readers import readable

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.process import Settings
    from tflogscope.runtime.emitter.records import Sink


def _complete_dialect(incomplete: str) -> list[str]:
    from tflogscope.runtime.emitter.dialects import DIALECTS

    return [name for name in DIALECTS if name.startswith(incomplete)]


# Everything after PROGRAM.py and its options belongs to the program.
CONTEXT = {"allow_interspersed_args": False}


class Command(TyperCommand):
    """Takes its options before PROGRAM.py or right behind it; what follows is the program's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the options that come after PROGRAM.py before it."""
        options, rest = self._own(args)
        if rest and not rest[0].startswith("-"):
            more, others = self._own(rest[1:])
            others = others[1:] if others[:1] == ["--"] else others
            args = [*options, *more, "--", rest[0], *others]
        return super().parse_args(ctx, args)

    def _own(self, args: list[str]) -> tuple[list[str], list[str]]:
        """The options of ours that `args` begins with, and what follows."""
        takes_value = {
            name: not getattr(parameter, "is_flag", False)
            for parameter in self.params
            if parameter.param_type_name == "option" and parameter.name != "help"
            for name in parameter.opts
        }
        at = 0
        while at < len(args):
            name, joined, _ = args[at].partition("=")
            if name not in takes_value:
                break
            at += 2 if takes_value[name] and not joined else 1
        return args[:at], args[at:]


def simulate(  # noqa: PLR0917 - the options of the command
    program: Annotated[str, argument("PROGRAM.py", "The Python program to run.")],
    arguments: Annotated[
        list[str] | None,
        argument("ARGS", "Arguments of the program (its sys.argv)."),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output -o FILE",
            "Write the log that TensorFlow would have written, with the program's output. "
            "Compressed if it ends in .zst or .gz; - is standard output.",
        ),
    ] = None,
    dialect: Annotated[
        str,
        option(
            "--dialect",
            "Simulate this release: 2.8, 2.13, 2.16, 2.20 or 2.21. "
            "From 2.16 on, tf.keras is Keras 3.",
            autocompletion=_complete_dialect,
        ),
    ] = "2.13",
    truth: Annotated[
        Path | None, option("--truth FILE", "Also write what really happened, as JSON Lines.")
    ] = None,
    level: Annotated[int, option("--level", "TF_CPP_MAX_VLOG_LEVEL.", min=0, max=4)] = 2,
    vmodule: Annotated[str, option("--vmodule NAME=N,…", "TF_CPP_VMODULE.")] = "",
    thread_ids: Annotated[bool, option("--thread-ids", "TF_CPP_LOG_THREAD_ID=1.")] = False,
    seed: Annotated[int, option("--seed", "The same seed gives the same log.")] = 0,
    threads: Annotated[int, option("--threads", "Threads that run nodes.", min=1, max=64)] = 2,
    no_onednn: Annotated[bool, option("--no-onednn", "TF_ENABLE_ONEDNN_OPTS=0.")] = False,
    faults: Annotated[
        str,
        option(
            "--faults NAME,…",
            "Faults to inject into the log: processes, clock, torn, late, prints, bytes, kill.",
        ),
    ] = "",
    force: Force = False,
) -> None:
    """Run a program on the reference runtime, a small TensorFlow.

    `import tensorflow` and `import keras` load the runtime, whose ops, functions and graphs are
    plain Python that you can step through. With -o, writes the log that TensorFlow would have
    written. Put options before PROGRAM.py or right after it.

    The program runs with all your permissions: this is not a sandbox. Its exit status is
    passed on.

    \b
    Examples:
      tflogscope simulate train.py
      tflogscope simulate train.py --epochs 2
      tflogscope simulate train.py -o run.log --truth truth.jsonl --dialect 2.20
    """
    with readable(program), open(program, "rb") as file:
        source = file.read()
    from tflogscope.runtime.emitter.output import Levels
    from tflogscope.runtime.emitter.process import Settings, writing
    from tflogscope.runtime.simulate import run_program

    levels = Levels(level, _modules(vmodule) or None, threads=thread_ids)
    names = tuple(name for name in faults.split(",") if name)
    settings = Settings(dialect, levels, seed, threads, onednn=not no_onednn, faults=names)
    if output is None:
        _refuse_what_needs_a_log(settings, truth)
        raise typer.Exit(run_program(program, source, arguments or [], dialect))
    _see_to_files(program, output, truth, force=force)
    with ExitStack() as stack:
        opened = _onto_standard_output(stack) if output == _STANDARD_OUTPUT else _opened
        try:
            stack.enter_context(writing(output, settings, truth, opened))
        except ValueError as error:
            raise UsageError(str(error)) from error
        status = run_program(program, source, arguments or [], dialect)
    raise typer.Exit(status)


def _refuse_what_needs_a_log(settings: Settings, truth: Path | None) -> None:
    """Raises UsageError for options that say how a log is written, and for an unknown release."""
    from tflogscope.runtime.emitter.dialects import dialect
    from tflogscope.runtime.emitter.process import Settings

    try:
        dialect(settings.release)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if truth is not None:
        raise UsageError("--truth needs a log", hint="Add -o run.log.")
    if settings != Settings(settings.release):
        raise UsageError("log options need -o", hint="Add -o run.log, or remove them.")


def _opened(path: Path) -> AbstractContextManager[Sink]:
    """A new file, compressed as its name says; what a link there leads to is not written to.

    Raises OutputError.
    """
    from tflogscope.recording.log_file import log_file

    if path.is_symlink():
        path.unlink()
    return log_file(path, force=True)


def _onto_standard_output(stack: ExitStack) -> Callable[[Path], AbstractContextManager[Sink]]:
    """What opens `-` as standard output. What the program prints is in the log already, and is not
    passed on as well.
    """
    stream = sys.stdout.buffer
    nothing = Path(os.devnull)
    nowhere = stack.enter_context(nothing.open("w", encoding="utf-8"))
    stack.enter_context(redirect_stdout(nowhere))
    stack.enter_context(redirect_stderr(nowhere))
    return lambda path: nullcontext(stream) if path == _STANDARD_OUTPUT else _opened(path)


_STANDARD_OUTPUT = Path("-")
_NOT_COMPRESSED = frozenset({".bz2", ".lz4", ".lzma", ".xz", ".zip"})


def _see_to_files(program: str, log: Path, truth: Path | None, *, force: bool) -> None:
    """See that program, log and truth are three files, and that none is overwritten unasked.

    Raises UsageError or OutputError.
    """
    if truth == _STANDARD_OUTPUT:
        raise UsageError("--truth needs a file", "--truth -", "standard output is for the log")
    written = [path for path in (log, truth) if path not in {None, _STANDARD_OUTPUT}]
    for path in written:
        if path.suffix in _NOT_COMPRESSED:
            raise UsageError(f"can't compress to {path.suffix}", str(path), "Use .zst or .gz.")
    places = [path.resolve() for path in (Path(program), *written)]
    if len(set(places)) < len(places):
        raise UsageError("program, log and truth must be different files", str(log))
    for path in written:
        if (path.is_symlink() or path.is_file()) and not force:
            raise OutputError("already exists", str(path), "Use --force to replace it.")


def _modules(text: str) -> dict[str, int]:
    """`executor=2,execute=1`. Raises UsageError where it is not that."""
    levels = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        if part:
            try:
                levels[name] = int(number)
            except ValueError:
                raise UsageError(
                    f"{part!r} is not MODULE=LEVEL",
                    hint="Write --vmodule executor=2,execute=1.",
                ) from None
    return levels
