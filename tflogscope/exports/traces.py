"""The registry of trace formats: name, suffixes, writer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from tflogscope.errors import UsageError
from tflogscope.exports.formats import FileFormat

if TYPE_CHECKING:
    from tflogscope.model.run import Run

_GZIP = ".gz"


@dataclass(frozen=True)
class TraceFormat(FileFormat):
    """A file format for traces."""

    only_ran: bool = False  # its times are sums

    def write(self, run: Run, stream: BinaryIO, made_by: str, *, compress: bool = False) -> None:
        """Write the trace of a run.

        Args:
            run: what to draw.
            stream: takes bytes; need not seek.
            made_by: the program and its version.
            compress: write gzip.

        Raises:
            OSError: the stream can't be written.
        """
        from tflogscope.exports.gzip_parallel import gzipped
        from tflogscope.exports.trace_rows import trace_rows

        pieces = self.writer(trace_rows(run, made_by, only_ran=self.only_ran))
        stream.writelines(gzipped(pieces) if compress else pieces)


# Suffixes are tried in this order: `.speedscope.json` is not Chrome's.
TRACE_FORMATS: dict[str, TraceFormat] = {
    each.name: each
    for each in (
        TraceFormat(
            "speedscope",
            (".speedscope.json", ".speedscope"),
            False,
            "trace_speedscope",
            "speedscope_json",
        ),
        TraceFormat("folded", (".folded",), False, "trace_folded", "folded_stacks", only_ran=True),
        TraceFormat("chrome", (".json",), False, "trace_chrome", "chrome_json"),
        TraceFormat(
            "perfetto",
            (".pftrace", ".perfetto-trace", ".pb"),
            True,
            "trace_perfetto",
            "perfetto_trace",
        ),
    )
}


def trace_format_of_file(path: str) -> TraceFormat:
    """The format that a file's suffix asks for, `.gz` behind it or not; case does not matter.

    Raises:
        UsageError: no format has that suffix.
    """
    name = path.lower().removesuffix(_GZIP)
    for each in TRACE_FORMATS.values():
        if name.endswith(each.suffixes):
            return each
    known = " ".join(suffix for each in TRACE_FORMATS.values() for suffix in each.suffixes)
    hint = f"Name the format with --format, or use one of {known}, each also with .gz"
    raise UsageError("no trace format has that suffix", path, hint)


def is_gzip_name(path: str) -> bool:
    """Whether a file's suffix asks for gzip."""
    return path.lower().endswith(_GZIP)
