"""The formats of traces: Chrome's JSON for viewers, folded stacks for flame graphs."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, BinaryIO

from tflogscope.errors import UsageError

if TYPE_CHECKING:
    from tflogscope.model.run import Run

TRACE_FORMATS = {"chrome": ".json", "folded": ".folded"}  # name: suffix
_GZIP = ".gz"
_LEVEL = 2  # traces are repetitive: level 6 takes three times as long for a fifth less
# speedscope takes a file of this name for one of its own format, which this is not.
_NOT_CHROME = ".speedscope.json"
_HINT = (
    "Use chrome (.json, .json.gz), which Perfetto, speedscope and chrome://tracing open, "
    "or folded (.folded), for flame graphs."
)


def trace_format(path: str | None, name: str | None) -> str:
    """The format that is asked for: by name, else by the file's suffix, else `chrome`.

    Args:
        path: the file, which may have `.gz` at its end; case does not matter. None: no file.
        name: one of `TRACE_FORMATS`; None: not said.

    Raises:
        UsageError: there is no such format, or none has that suffix.
    """
    if name is not None:
        if name not in TRACE_FORMATS:
            raise UsageError("no such trace format", name, _HINT)
        return name
    if path is None:
        return "chrome"
    file = path.lower().removesuffix(_GZIP)
    if not file.endswith(_NOT_CHROME):
        for form, suffix in TRACE_FORMATS.items():
            if file.endswith(suffix):
                return form
    raise UsageError("not a suffix of a trace format", path, _HINT)


def write_trace(
    run: Run, stream: BinaryIO, name: str, made_by: str, *, path: str | None = None
) -> None:
    """Write the trace of a run.

    Args:
        run: what to draw.
        stream: takes bytes; need not seek.
        name: one of `TRACE_FORMATS`.
        made_by: the program and its version.
        path: the name of the file; `.gz` at its end compresses it.

    Raises:
        OSError: the stream can't be written.
    """
    from tflogscope.exports.trace_chrome import chrome_json
    from tflogscope.exports.trace_folded import folded_stacks

    pieces = chrome_json(run, made_by) if name == "chrome" else folded_stacks(run)
    if path is None or not path.lower().endswith(_GZIP):
        stream.writelines(pieces)
        return
    with gzip.GzipFile("", "wb", _LEVEL, stream, mtime=0) as packed:
        packed.writelines(pieces)
