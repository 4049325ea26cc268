"""How the program ended: its exit status, and the traceback that is the last thing in its log.

`tflogscope record` writes the status as the last line (`recording/header.py`). The traceback is
text of the program: lines without a prefix, which the end of each source has (`SourceSpan.tail`).
`grammars/endings.toml` says how such ends look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from tflogscope.events.events import PLACES
from tflogscope.events.scan import SourceSpan
from tflogscope.grammar.load import packaged_toml
from tflogscope.model.origin import footer_of, signal_name

_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+)', re.MULTILINE)
_INSTALLED = re.compile(r"^<|/(?:site|dist)-packages/|/lib(?:64)?/python\d|__autograph_generated_")
_ERROR = re.compile(r"^[^\s].*$", re.MULTILINE)
# The outermost frame of the main thread: what nothing caught is printed from there on.
_OUTERMOST = re.compile(
    r'\s*File "[^"\n]+", line \d+, in (?:<module>|_run_module_as_main)$', re.MULTILINE
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_OF_SHELL = range(129, 193)  # a shell's status of a command that a signal ended: 128 and its number


class Ending(NamedTuple):
    """How a program ended.

    `status` and `signal` are None where the log doesn't say. `error` is the exception that ended
    it, `frame` its nearest line in a file of the program's own (path, line), `printed` else the
    last line that it printed. `at` is where that begins, as in `Events`. `is_last`: nothing comes
    after the error, and its traceback begins where the program does.
    """

    at: int
    status: int | None
    signal: str | None
    error: str | None = None
    frame: tuple[str, int] | None = None
    printed: str | None = None
    is_last: bool = False


def read_endings(spans: list[SourceSpan]) -> Iterator[Ending]:
    """The ending of each source that shows one which is not exit status 0."""
    for span in spans:
        footer = footer_of(span.tail)
        text = span.tail.decode("utf-8", "replace")
        if footer:
            text = text[: text.rfind("\n", 0, -1) + 1]
        status = footer.get("status")
        if status == 0 or not text:
            continue
        said = footer.get("signal")
        named = isinstance(said, str) and re.fullmatch(r"SIG[A-Z0-9]+|signal \d+", said)
        ending = Ending(0, status, said if named else None)
        if isinstance(status, int) and status in _OF_SHELL and not named:
            ending = ending._replace(signal=signal_name(status - 128))
        ending, begin = _error(text, ending)
        after = text.count("\n", begin) + (not text.endswith("\n")) + bool(footer)
        ending = ending._replace(at=(span.first + span.lines - after) * PLACES)
        if ending.status is not None or ending.error is not None:
            yield ending


def _error(text: str, ending: Ending) -> tuple[Ending, int]:
    """The ending with its error, and where that begins in the text; else with the last line."""
    found = [
        (each.start(), each, row) for pattern, row in _rows() for each in pattern.finditer(text)
    ]
    for begin, match, row in sorted(found, key=lambda each: -each[0])[:1]:
        before = text[: begin - 1].rpartition("\n")[2] if begin else ""
        if _pattern("not").match(before):
            break
        said = _pattern("between").sub("", text[match.end() + 1 :])
        error = match.groupdict().get("error")
        is_last = True
        if error is None:
            first = _ERROR.search(said)
            if first is None:
                break
            error, rest = first[0], said[first.end() :]
            more = re.search(packaged_toml("endings.toml")["more"]["begin"], error) is not None
            is_last = (more or not rest.strip()) and _OUTERMOST.match(said) is not None
            error = _type_alone(error) + (_last_of(rest) if more else "")
        frame = _nearest(said, row.get("frames"))
        return ending._replace(error=_COLOURS.sub("", error), frame=frame, is_last=is_last), begin
    begin = text.rfind("\n", 0, len(text.rstrip()) or None) + 1
    line = text[begin:].rstrip()
    return ending._replace(printed=None if _pattern("between").match(line) else line), begin


def _type_alone(error: str) -> str:
    """`tensorflow.python.framework.errors_impl.NotFoundError: …` without the modules."""
    return re.sub(r"^(?:\w+\.)+(?=\w+(?::|$))", "", error)


def _last_of(rest: str) -> str:
    """The last line of a message that says more than where."""
    leave = re.compile(packaged_toml("endings.toml")["more"]["leave"])
    lines = [line.strip() for line in rest.splitlines() if line.strip() and not leave.match(line)]
    return f" {lines[-1]}" if lines else ""


def _nearest(said: str, frames: str | None) -> tuple[str, int] | None:
    """The nearest frame that is not of something installed."""
    own = [(path, int(line)) for path, line in _FRAME.findall(said) if not _INSTALLED.search(path)]
    if not own or frames is None:
        return None
    return own[-1] if frames == "last" else own[0]


@cache
def _rows() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    rows = packaged_toml("endings.toml")["ending"]
    return [(re.compile(row["pattern"], re.MULTILINE), row) for row in rows]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(packaged_toml("endings.toml")[name]["pattern"], re.MULTILINE)
