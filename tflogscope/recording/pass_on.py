"""What a recorded program writes: which of it is log, and which is for its user.

This is not the grammar of the analyzer. A mistake here shows or hides a line; the recording
holds them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Write = Callable[[bytes], object]

# How a line of log begins: a record of TensorFlow (classic or absl), a line of oneDNN, or
# of what `--lines` adds to the program.
_CLASSIC = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: (?P<classic>[IWEF]) "
_ABSL = rb"(?P<absl>[IWEF])\d{4} \d\d:\d\d:\d{2,10}\.\d{6} "
_ONEDNN = rb"(?:onednn|dnnl)_(?:graph_)?verbose,"
_LINES = (
    rb"tflogscope "
    rb"(?:op|computed|node|gradient|function|trace|stack|setting|cost|left_out|threads|faults"
    rb"|stopped|off) \d"
)
_LOG_LINE = re.compile(rb"(?:%s|%s|%s|%s)" % (_CLASSIC, _ABSL, _ONEDNN, _LINES))
# In the middle of a line. TensorFlow never calls absl::InitializeLog, so its records have seconds
# and no date (absl/log/internal/log_format.cc, FormatBoundedFields).
_TORN = re.compile(
    rb"%s|[IWEF]0000 00:00:\d{10}\.\d{6} |(?<=\S)%s|%s[\d.]* \S"
    % (_CLASSIC.replace(b"?P<classic>", b"?:"), _LINES, _LINES)
)


def _beginnings(form: bytes, then: bytes = b"") -> bytes:
    """A pattern of all that a text of this form may begin with; 0 is for any digit."""
    pattern = then
    for letter in reversed(form):
        one = rb"\d" if letter == ord("0") else re.escape(bytes([letter]))
        pattern = one + b"(?:%s)?" % pattern
    return pattern


# The end of a piece that may be the beginning of such a record.
_MAY_BE_TORN = re.compile(
    rb"(?:%s|[IWEF](?:%s)?|%s)\Z"
    % (
        _beginnings(b"0000-00-00 00:00:00.000000: ", b"[IWEF]"),
        _beginnings(b"0000 00:00:0000000000.000000"),
        _beginnings(b"tflogscope ", rb"[a-z_]{1,8}(?: [\d.]{,20} ?)?"),
    )
)
_SITE = re.compile(rb"(?:%s|%s) *(?:\d+ )?(?P<file>[^\] ]*):\d+\] " % (_CLASSIC, _ABSL))
_SEVERITIES = b"IWEF"
# A line of oneDNN between the prefix of a record and its message, which is the next line then.
_SPLIT = re.compile(rb":\d+\] (?:onednn|dnnl)_(?:graph_)?verbose,")
# What the executor says as warnings at VLOG level 1 and above, and only there
# (common_runtime/executor.cc, ExecutorState::ProcessOutputs and DumpState).
_OF_VLOG = re.compile(
    rb"(?:.*/)?(?:executor|propagator_debug_utils|(?:simple_)?propagator_state)\.(?:cc|h)"
)
# Lines of log, one after another, of which the user is shown none: nearly all of what comes.
_INFO = rb"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: I |I\d{4} \d\d:\d\d:\d{2,10}\.\d{6} )"
_RUN = re.compile(rb"(?:(?:%s|%s|%s)[^\n]*+\n)*+" % (_INFO, _ONEDNN, _LINES))
_RECORD = re.compile(rb"^%s" % _INFO, re.MULTILINE)
# Each line of log has one of these. They begin with fixed bytes, so they are found quickly.
_MARKS = (rb"\.\d{6}", rb"_verbose,", rb"tflogscope ", rb"WARNING: All log")
_BLANK = re.compile(rb"\s*\n")
_MAY_BEGIN = b"0123456789IWEFod"
_LINES_BEGIN = b"tflogscope "
_MAY_GO_ON = b"T=}abcdefghijklmnopqrstuvwxyz \t\r\n\f\v"
_MAY_OPEN = b"abcdefghijklmnopqrstuvwxyz_"
_LONGEST = 40  # bytes; no record takes longer to begin
_DECIDES = 160  # bytes of a line that are enough to know what it is
_TAIL = 600  # bytes at its end that say how it goes on
# Records of eager/execute.cc print functions and nodes as protobuf text, a field on each line.
_FIELD = re.compile(rb"\s+[a-z_0-9]+(?:: | \{\s*$)|\s*\}\s*$")
_OPENS = re.compile(rb"[a-z_]+ \{\s*$")
# What protobuf writes in front of such a text from 2.21 on; the text begins in the next line.
_DEBUG_STRING = re.compile(rb"goo\.gle/debug[a-z]+\s*$")
# How records go on in a second line: what platform/cpu_feature_guard.cc says of each program, and
# the node of a status that is not OK.
_SECOND = (
    b"To enable the following instructions:",
    b"\t [[",
    b"=== Source Location Trace: ===",
)
# From 2.22 on a status says where it comes from, a place on each line.
_SOURCE_PLACE = re.compile(rb"[\w/.+-]+\.(?:cc|h|cu\.h):\d+\s*$")
# The status of Python code that failed has its traceback (python/lib/core/py_func.cc), behind all
# lines of the exception's message.
_PYTHON_FAILED = re.compile(rb"\b[A-Z_]{6,}: (?:\{\{[^\n}]*\}\} )*(?P<name>[\w.]+): [^\n]*\s*$")
# A message of other statuses may have more lines, too: a text of the program, the name of a file.
# They are known by what a status ends with: its node, its trace.
_STATUS = re.compile(rb" [A-Z][A-Z_]{4,}: [^\n]*\s*$")
_ENDS_STATUS = (b"\t [[", b"=== Source Location Trace: ===")
_EXCEPTION = re.compile(rb"(?:Error|Exception|Iteration|Warning|Interrupt|Exit)$")
_TRACEBACK = b"Traceback (most recent call last):"
_OF_TRACEBACK = re.compile(
    rb"\s|[\w.]+: |\w+(?:Error|Exception|Iteration)\s*$|Traceback \(most recent call last\):|=== |"
    rb"The above exception was |During handling of the above exception, |" + _SOURCE_PLACE.pattern
)
_MESSAGE = 100  # lines of an exception's message
_HELD, _HELD_BYTES = 20, 2000  # lines that may be those of a status, and how long each is at most
# What absl writes in front of its first record.
_ABSL_WARNS = b"WARNING: All log messages before absl::InitializeLog() is called"


def _may_be_of_status(line: bytes) -> bool:
    return bool(line.strip()) and len(line) <= _HELD_BYTES and _TORN.search(line) is None


class PassOn:
    """Sorts what a program writes: its own output, warnings and errors of TensorFlow, log.

    The beginning of a line decides; the rest goes where it goes, as it comes. So a prompt or a
    progress bar is passed on at once, and a line of any length is never kept.
    """

    def __init__(
        self, output: Write, errors: Write, *, least: int = 0, begins: Sequence[bytes] = ()
    ) -> None:
        """`least` is the least severity that is passed on to `errors`: 1 for warnings.

        `begins`: how more lines of log begin, those of plug-ins.
        """
        more = [re.escape(text) for text in begins]
        self._log_line = re.compile(b"|".join([_LOG_LINE.pattern, *more]))
        self._marks = [re.compile(mark) for mark in (*_MARKS, *more)]
        self._next_marks: list[int] = []  # where the next one of each is in the data
        self._may_begin = _MAY_BEGIN + b"".join(text[:1] for text in begins)
        self.has_records = False
        """Whether there was a record that TensorFlow prints at TF_CPP_MIN_LOG_LEVEL=0 only."""
        self._output = output
        self._errors = errors
        self._least = max(least, 1)
        self._open = b""  # the beginning of a line of which it is not known yet what it is
        self._decided = False
        self._to: Write | None = None  # where this line goes; None: it is log
        self._is_cut = False  # the last line of the program's own: a record came before its end
        self._tail = b""  # the last bytes of this line
        self._held = b""  # what comes next in it, and may be the beginning of a record
        self._begins_record = False
        self._is_split = False  # the message of the last record is still to come
        self._after_log = False
        self._in_dump = False
        self._in_traceback = False
        self._failed = False  # Python code, of which the last record says so
        self._message: list[bytes] | None = None  # lines of its exception's message
        self._record_to: Write | None = None  # where the last record went
        self._may_be_status: list[bytes] | None = None  # lines after a status; None: no longer
        self._depth = 0  # of braces in protobuf text
        self._sent: list[bytes] = []
        self._sent_to: Write | None = None

    def feed(self, data: bytes) -> None:
        """Sort more of the output."""
        start = 0
        self._next_marks = [-1] * len(self._marks)
        while start < len(data):
            if not self._open and not self._decided:
                start = self._after_own(data, self._after_run(data, start))
            end = data.find(b"\n", start) + 1 or len(data)
            self._take(data[start:end])
            start = end
        self._send(None, b"")

    def _after_run(self, data: bytes, start: int) -> int:
        """Where the last line of a run of log begins: what came before it changes nothing."""
        match = _RUN.match(data, start)
        if match is None or match.end() == start:
            return start
        if not self.has_records:
            self.has_records = _RECORD.search(data, start, match.end()) is not None
        return data.rfind(b"\n", start, match.end() - 1) + 1 or start

    def _after_own(self, data: bytes, start: int) -> int:
        """Where the lines end that are the program's own, or blank and after a line of log."""
        if self._may_be_status is not None:
            return start
        if self._after_log or self._in_traceback:
            inside = self._in_traceback or (self._failed and self._message is not None)
            blank = None if inside or self._is_cut else _BLANK.match(data, start)
            if blank is None:
                return start
            self._failed = False
            return blank.end()
        for number, mark in enumerate(self._marks):
            if self._next_marks[number] < start:
                match = mark.search(data, start)
                self._next_marks[number] = match.start() if match else len(data)
        end = data.rfind(b"\n", start, min(self._next_marks)) + 1
        if end <= start:
            return start
        self._send(self._output, data[start:end])
        self._in_dump = self._failed = False
        return end

    def idle(self, *, surely: bool = True) -> None:
        """Nothing came for a while: a line that is still open is a prompt, unless it is log.

        Not `surely`: what a record may begin with waits for the rest of it, for the program may
        wait for a processor in the middle of writing one.
        """
        if not surely and _MAY_BE_TORN.fullmatch(self._held or self._open):
            return
        if self._may_be_status:
            self._output(b"".join(self._may_be_status))
        self._may_be_status = None
        if self._held:
            self._output(self._held)
            self._tail, self._held = self._tail + self._held, b""
        if self._open and not self._log_line.match(self._open):
            self._output(self._open)
            self._open, self._to, self._decided = b"", self._output, True
            self._after_log = self._in_dump = False

    def _take(self, piece: bytes) -> None:
        """Take a line, or a piece of one."""
        ends = piece.endswith(b"\n")
        if not self._decided:
            self._open += piece
            if not ends and self._may_be_log():
                return
            piece, self._open = self._open, b""
            self._to, self._decided = self._place_of(piece[:_DECIDES]), True
            if self._may_be_status is not None and self._holds(piece, ends=ends):
                self._decided = False
                return
        if self._to is self._output:
            piece, self._held = self._held + piece, b""
            before = self._tail[-1:]
            if torn := _TORN.search(before + piece, len(before)):
                # A record in the middle of a line, as behind a prompt: the line goes on after it.
                place = torn.start() - len(before)
                self._send(self._output, piece[:place])
                self._end_line()
                self._is_cut = True
                self._take(piece[place:])
                return
            if not ends and (begun := _MAY_BE_TORN.search(piece, max(0, len(piece) - _LONGEST))):
                piece, self._held = piece[: begun.start()], piece[begun.start() :]
        if self._to is not None:
            self._send(self._to, piece)
            self._is_cut &= self._to is not self._output
        self._tail = (self._tail + piece)[-_TAIL:]
        if ends:
            self._end_line()

    def _holds(self, line: bytes, *, ends: bool) -> bool:
        """Whether a line is kept until it is known if it is one of the last record's status."""
        held, self._may_be_status = self._may_be_status or [], None
        to = self._to
        if line.startswith(_ENDS_STATUS):
            self._to = to = self._record_to
            self._after_log = True
        elif to is self._output and ends and len(held) < _HELD and _may_be_of_status(line):
            self._may_be_status = [*held, line]
            return True
        else:
            to = self._output
        if held and to is not None:
            self._send(to, b"".join(held))
        return False

    def _may_be_log(self) -> bool:
        """Whether more of the open line is needed to know what it is."""
        if self._may_be_status is not None and not self._log_line.match(self._open):
            return len(self._open) < _HELD_BYTES
        if len(self._open) >= _DECIDES or _SITE.match(self._open):
            return False
        first = self._open[:1]
        return (
            first in self._may_begin
            or self._in_traceback
            or self._failed
            or self._open.startswith(_LINES_BEGIN)
            or _LINES_BEGIN.startswith(self._open)
            or (self._after_log and first in _MAY_GO_ON)
            or (self._in_dump and first in _MAY_OPEN)
        )

    def _place_of(self, head: bytes) -> Write | None:
        """Where a line goes that begins like this."""
        match = self._log_line.match(head)
        self._begins_record = match is not None or head.startswith(_ABSL_WARNS)
        if self._begins_record:
            self._after_log = True
            severity = (match["classic"] or match["absl"]) if match else b"W"
            shown = severity and self._is_shown(severity, head)
            self._record_to = self._errors if shown else None
            return self._record_to
        if self._is_split:
            self._is_split = False
            return self._record_to
        if self._is_traceback(head):
            return self._record_to
        if self._is_cut and not head.strip():  # the end of that line, unless a dump's own
            self._after_log, self._in_dump = self._in_dump, False
        # An empty line after a log line is the end of it: some messages end in a line feed of their
        # own, and that of a oneDNN line comes late if a record of TensorFlow was quicker.
        self._after_log = self._after_log and (
            not head.strip()
            or head.startswith(_SECOND)
            or _SOURCE_PLACE.match(head) is not None
            or self._is_dump(head)
        )
        return None if self._after_log else self._output

    def _is_shown(self, severity: bytes, head: bytes) -> bool:
        """Whether a record is for the user of the program: what only a recording prints is not."""
        level = _SEVERITIES.index(severity)
        if level == 0:
            self.has_records = True
        site = _SITE.match(head)
        return level >= self._least and not (site and level == 1 and _OF_VLOG.match(site["file"]))

    def _is_traceback(self, head: bytes) -> bool:
        """Whether the line is of the status of Python code that failed: its message, its traceback.

        A traceback behind an empty line is the program's.
        """
        line, message, failed = head.strip(), self._message, self._failed
        self._failed = False
        if failed and head.startswith(_TRACEBACK):
            self._in_traceback = self._after_log and not (message and not message[-1])
        elif failed and message is not None and len(message) < _MESSAGE:
            message.append(line)
            self._failed = True
            return True
        elif line not in (message or ()):
            self._in_traceback = self._in_traceback and _OF_TRACEBACK.match(head) is not None
        return self._in_traceback

    def _is_dump(self, head: bytes) -> bool:
        """Whether the line goes on with protobuf text."""
        pattern = _FIELD if self._depth else _OPENS
        self._in_dump = self._in_dump and pattern.match(head) is not None
        return self._in_dump

    def _end_line(self) -> None:
        opens = self._tail.rstrip().endswith(b"{")
        if self._begins_record:
            self._is_split = _SPLIT.search(self._tail) is not None
            failed = _PYTHON_FAILED.search(self._tail)
            self._failed = failed is not None
            self._message = [] if failed and _EXCEPTION.search(failed["name"]) else None
            self._may_be_status = None if failed or not _STATUS.search(self._tail) else []
            self._in_dump = opens or _DEBUG_STRING.search(self._tail) is not None
            self._depth = int(opens)
        elif self._in_dump:
            self._depth += opens - (self._tail.strip() == b"}")
        self._tail, self._decided = b"", False

    def _send(self, to: Write | None, data: bytes) -> None:
        """Pass on, what goes to the same place at once."""
        if to is not self._sent_to:
            if self._sent_to is not None:
                self._sent_to(b"".join(self._sent))
            self._sent, self._sent_to = [], to
        self._sent.append(data)
