"""Where the program starts and ends: every way to end is mapped to its exit code here.

0 success, 1 a check failed, 2 usage error, 3 the input can't be read or nothing in it is
recognized, 4 internal error, 130 interrupted; 141 if the reader of the output went away
(`tflogscope … | head`), as the shell reports it for any program.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import typer

from tflogscope.cli.libraries import set_libraries
from tflogscope.errors import (
    InputError,
    OutputError,
    PolicyError,
    QueryError,
    TflogscopeError,
    TflogscopeWarning,
    UsageError,
    is_damage,
)
from tflogscope.escapes import pointed, safe

FAULT, INTERRUPTED, READER_GONE = 4, 130, 141
# Errors of reading are mapped where logs are read; these are left over from printing.
_OUTPUT_ERRORS = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
# What a name of the user's can meet wherever it is looked at.
_NAME_ERRORS = {errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENOTDIR}
_MEMORY = "See docs/commands.md for memory needs; check ulimit -v for a limit."
_NO_THREAD = "can't start new thread"
_LONGEST = 600  # characters of a message: an error may quote a log line of any length


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the command line without the program's name; `sys.argv` if not given.

    Returns:
        The exit code. Nothing is raised but `SystemExit` by shell completion.
    """
    set_libraries()
    _open_what_is_closed()
    # A terminal that is not UTF-8 gets `\xb5` for `µ`, not a UnicodeEncodeError.
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = partial(_warn, warnings.showwarning)
        code = _run_to_code(arguments)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = code or _output_failed(error)
        _drop_output()
    return code


def _warn(
    otherwise: Callable[..., None], message: Warning | str, category: type[Warning], *more: Any
) -> None:
    """Say a warning of tflogscope's own in its way."""
    if issubclass(category, TflogscopeWarning):
        _say(str(message))
    else:
        otherwise(message, category, *more)


def _open_what_is_closed() -> None:
    """Give standard streams that are closed (`>&-`) their place again.

    Else the first file that is opened gets it. Writing to standard output fails then as it should,
    and what is said on standard error is lost, as was asked for.
    """
    for number, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # it gets the lowest number that is free
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  it stays
            setattr(sys, name, stream)


def _run_to_code(arguments: Sequence[str] | None) -> int:
    """Run one command; every way in which it may fail becomes a message and an exit code."""
    try:
        return _run(arguments)
    except TflogscopeError as error:
        return _failed(error)
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except SystemExit as ended:
        # typer and rich both turn a broken pipe into SystemExit(1); ours must not look like 1.
        if isinstance(ended.__context__, BrokenPipeError):
            return _output_failed(ended.__context__)
        raise
    except OSError as error:
        return _system_failed(error)
    except BaseException as error:  # noqa: BLE001  a panic inside polars is no Exception
        return _fault(error)


def _run(arguments: Sequence[str] | None) -> int:
    """Let typer parse and call; its own errors are all about usage."""
    from tflogscope.cli.app import whole_command

    try:
        code = whole_command().main(arguments, prog_name="tflogscope", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "tflogscope"
        _say(error.format_message(), hint=f"Try: {path} --help")
        return 2
    if code == INTERRUPTED:  # typer's answer to Ctrl-C
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _failed(error: TflogscopeError) -> int:
    """Say an expected error, pointing at the place in the user's own text if it is about one."""
    _say(error.what, where=error.where)
    if isinstance(error, QueryError):
        for line in pointed(error.text, error.place).split("\n"):
            _print(f"  {line}")
    if error.hint:
        _print(_one_line(error.hint))
    if isinstance(error, PolicyError):
        _print(f"\nA policy that works:\n\n{error.example}")
    return error.exit_code


def _say(what: str, *, where: str | None = None, hint: str | None = None) -> None:
    """One or two lines on standard error; names and quoted log text can't do anything in them."""
    place = f"{safe(where[:_LONGEST])}: " if where else ""
    _print(f"tflogscope: {place}{_one_line(what)}")
    if hint:
        _print(_one_line(hint))


def _print(text: str) -> None:
    """Print on standard error. Where that can't be written, the exit code says it alone."""
    with suppress(OSError):
        print(text, file=sys.stderr)  # noqa: T201  its one place


def _one_line(text: str) -> str:
    text = " ".join(line.strip() for line in text.split("\n") if line.strip())
    return safe(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def _output_failed(error: OSError) -> int:
    """Standard output can't take more: quietly if its reader went away, with a word otherwise."""
    if isinstance(error, BrokenPipeError):
        return READER_GONE
    _say(f"can't write: {error.strerror or error}", where="standard output")
    return OutputError.exit_code


def _system_failed(error: OSError) -> int:
    """The system refuses something that nobody expected where it was asked for."""
    if error.errno in _OUTPUT_ERRORS:
        return _output_failed(error)
    if error.errno == errno.ENOENT and not _has_directory():
        _say("the current directory no longer exists", hint="Change to an existing directory.")
        return UsageError.exit_code
    if error.errno not in _NAME_ERRORS:
        return _fault(error)
    refused = error.errno in (errno.EACCES, errno.EPERM)
    hint = "Check its permissions." if refused else "Check the path."
    _say(error.strerror or str(error), where=str(error.filename or "a file"), hint=hint)
    return InputError.exit_code


def _has_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109  quick to import
    except OSError:
        return False
    return True


def _drop_output() -> None:
    """Let what Python still has to flush at exit go nowhere, instead of failing once more."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def _fault(error: BaseException) -> int:
    if os.environ.get("TFLOGSCOPE_TRACEBACK"):
        traceback.print_exception(error)
    full = getattr(error, "errno", None) == errno.ENOMEM
    if full or isinstance(error, MemoryError) or _NO_THREAD in str(error):
        _say("out of memory", hint=_MEMORY)
        return FAULT
    if is_damage(error):
        _say(f"a file of the store is damaged: {error}", hint="Collect the runs into a new store.")
        return InputError.exit_code
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    kind = type(error).__name__
    _say(
        f"internal error: {kind}: {str(error)[:_LONGEST]}{place}",
        hint="Please report it, with the output of the same command under TFLOGSCOPE_TRACEBACK=1.",
    )
    return FAULT
