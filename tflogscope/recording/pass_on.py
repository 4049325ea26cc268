"""What a recorded program writes: which of it is log, and which is for its user.

This is not the grammar of the analyzer. A mistake here shows or hides a line; the recording
holds them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Write = Callable[[bytes], object]

# How a line of log begins: a record of TensorFlow (classic or absl), or a line of oneDNN.
_CLASSIC = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: (?P<classic>[IWEF]) "
_ABSL = rb"(?P<absl>[IWEF])\d{4} \d\d:\d\d:\d{2,10}\.\d{6} "
_ONEDNN = rb"(?P<onednn>(?:onednn|dnnl)_(?:graph_)?verbose,)"
_LOG_LINE = re.compile(rb"(?:%s|%s|%s)" % (_CLASSIC, _ABSL, _ONEDNN))
_MAY_BEGIN = b"0123456789IWEFod"
# Records of eager/execute.cc print functions and nodes as protobuf text, a field on each line.
_FIELD = re.compile(rb"\s+[a-z_0-9]+(?:: .*| \{)?\s*$|\s*\}\s*$")
_OPENS = re.compile(rb"[a-z_]+ \{\s*$")
# How records go on in a second line: what platform/cpu_feature_guard.cc says of each program, and
# the node of a status that is not OK.
_SECOND = (b"To enable the following instructions:", b"\t [[{{node ")
# What absl writes in front of its first record.
_ABSL_WARNS = b"WARNING: All log messages before absl::InitializeLog() is called"


class PassOn:
    """Sorts what a program writes: its own output, warnings and errors of TensorFlow, log.

    A line that is not log is passed on as it comes, a prompt or a progress bar too.
    """

    def __init__(self, output: Write, errors: Write) -> None:
        self._output = output
        self._errors = errors
        self._open = b""  # the beginning of a line of which it is not known yet what it is
        self._passing = False  # in the middle of a line that is no log
        self._depth = 0  # of braces in protobuf text
        self._in_dump = False
        self._after_log = False

    def feed(self, data: bytes) -> None:
        """Sort more of the output."""
        data = self._open + data
        self._open = b""
        plain: list[bytes] = []
        for line in data.splitlines(keepends=True) if b"\n" in data else [data]:
            whole = line.endswith(b"\n")
            if self._passing:
                plain.append(line)
                self._passing = not whole
            elif not whole and (self._in_dump or line[:1] in _MAY_BEGIN):
                self._open += line
            elif not self._is_log(line):
                plain.append(line)
                self._passing = not whole
        if plain:
            self._output(b"".join(plain))

    def idle(self) -> None:
        """Nothing came for a while: a line that is still open is a prompt, unless it is log."""
        if self._open and not _LOG_LINE.match(self._open):
            self._output(self._open)
            self._open, self._passing = b"", True

    def _is_log(self, line: bytes) -> bool:
        found = _LOG_LINE.match(line)
        if line.startswith(_ABSL_WARNS):
            self._errors(line)
            self._after_log = True
            return True
        if found:
            if (found["classic"] or found["absl"]) in {b"W", b"E", b"F"}:
                self._errors(line)
            self._in_dump = line.rstrip().endswith(b"{")
            self._depth = int(self._in_dump)
        # An empty line after a log line is the end of it: some messages end in a line feed of their
        # own, and that of a oneDNN line comes late if a record of TensorFlow was quicker.
        is_log = bool(found or (self._after_log and self._goes_on(line)))
        self._after_log = is_log
        return is_log

    def _goes_on(self, line: bytes) -> bool:
        return not line.strip() or line.startswith(_SECOND) or self._is_dump(line)

    def _is_dump(self, line: bytes) -> bool:
        """Whether the line goes on with protobuf text."""
        if not self._in_dump or not (_FIELD.match(line) if self._depth else _OPENS.match(line)):
            self._in_dump = False
            return False
        self._depth += line.rstrip().endswith(b"{") - (line.strip() == b"}")
        return True
