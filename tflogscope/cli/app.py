"""The commands, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from typer.core import TyperGroup

from tflogscope.cli.options import option
from tflogscope.version import MADE_BY

#: In the order in which help shows them; each is the function of its name in a module of its name.
COMMANDS = (
    *("record", "analyze", "watch", "ops", "export", "explain", "diff", "query", "timeline"),
    *("trace", "benchdnn", "report", "check", "redact", "simulate", "collect", "ranks", "trend"),
    "grammar",
)


class _Commands(Mapping[str, Any]):
    """The commands; one is imported and put together when it is asked for: all take 30 ms."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@cache
def _made(name: str) -> Any:
    module = import_module(f"tflogscope.cli.{name}")
    made = getattr(module, "app", None)  # a command with commands of its own
    if made is None:
        made = typer.Typer(add_completion=False, rich_markup_mode=None)
        cls, settings = (getattr(module, attribute, None) for attribute in ("Command", "CONTEXT"))
        made.command(name, cls=cls, context_settings=settings)(getattr(module, name))
    return _quick(typer.main.get_command(made))


class _Given(NamedTuple):
    """Passes on values that are what their parameter asks for as they were typed.

    typer has pydantic look at each value, and to import it takes as long as to import numpy.
    """

    slow: Callable[[], Any]
    """What typer would take in its place."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if kind is str and isinstance(value, str):
            return value
        if get_origin(kind) is Literal and value in get_args(kind):
            return value
        if kind == list[str]:
            return list(value)
        return self.slow().coerce(value, param=param, ctx=ctx)


def _quick(command: Any) -> Any:
    listed = command.get_params  # with --help, which is not among `params`
    command.get_params = lambda context: [_given(parameter) for parameter in listed(context)]
    return command


def _given(parameter: Any) -> Any:
    if "get_runtime_param" not in vars(parameter):
        given = _Given(parameter.get_runtime_param)
        parameter.get_runtime_param = lambda: given
    if parameter.param_type_name == "argument":  # help has its name; `<list[str]>` says no more
        parameter.display_type_rich = lambda **_: None
    return parameter


class _Group(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is added to them


# rich_markup_mode None: help is plain text, and typer does not import rich for it.
app = typer.Typer(
    name="tflogscope",
    cls=_Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 1000,  # that of the terminal, which click would take up to 80 of
    },
)


def whole_command() -> Any:
    """The command `tflogscope` with all of its commands."""
    return _quick(typer.main.get_command(app))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(MADE_BY)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001  its callback does the work
        bool,
        option("--version", "Print the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Analyze TensorFlow VLOG and oneDNN logs, op by op.

    Shows whether each op ran eagerly or in a graph, when, and for how long; whether it ran as a
    oneDNN kernel; and what its oneDNN primitives cost.

    \b
    Start here:
      tflogscope record -o run.log.zst -- python train.py
      tflogscope analyze run.log.zst          a summary on one screen
      tflogscope ops run.log.zst -o ops.csv   a row per op, for a spreadsheet

    Logs can be files (gzip, zstd, xz, bzip2), directories, or standard input.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)
