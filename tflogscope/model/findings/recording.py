"""Findings about the run and its log as a whole: failures, losses, what was not recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl

from tflogscope.events.events import MOST_UNREAD, PLACES
from tflogscope.events.scan import SourceSpan
from tflogscope.grammar.load import packaged_toml
from tflogscope.model.common.frames import only, rows, where
from tflogscope.model.common.origin import footer_of, signal_name
from tflogscope.model.common.recorded import many_unknown
from tflogscope.model.executions.executions import spelled
from tflogscope.model.executions.servers import serves
from tflogscope.model.findings.finding import Finding, most
from tflogscope.model.pipeline import Evidence

_MESSAGE = 240  # characters of a status that a finding quotes
# Where it was raised, before what was: tsl/platform/errors.h, FormatFunctionForError.
_NODE_AROUND = re.compile(r"\{\{(?:function_)?node ([^{}]*)\}\} ?")
_NODES_BEFORE = re.compile(rf"^([\w.]+: )?(?:{_NODE_AROUND.pattern})+")
# The function around one eager op, of which the program knows nothing.
_WRAPPER = re.compile(r"\{\{function_node __wrapped__[^{}]*\}\} ?")
_SHAPE = re.compile(r"\[(\d{1,18}(?:(?:, ?| )\d{1,18})*)\]")
_BATCH = r"^(?:Parallel)?BatchDataset"
_DESTROYS = r"^(?:Destroy|Delete)"
_SIGNAL = re.compile(r"SIG[A-Z0-9]+|Segmentation fault|SegFault|Aborted|Bus error|Illegal")
_ASKED = ("SIGTERM", "SIGHUP", "SIGQUIT")


def recording_findings(evidence: Evidence) -> Iterator[Finding]:
    """What went wrong, and what the log can't say."""
    yield from ending_findings(evidence)
    yield from _failures(evidence)
    yield from _unfinished(evidence)
    recorded = evidence.recorded
    facts: dict[str, Any] = {"bad": recorded.bad_bytes, "problems": recorded.problems}
    facts |= {"records": many_unknown(recorded), "unread": recorded.onednn_unread_lines}
    if any(facts.values()):
        lost = evidence.events.unread[:MOST_UNREAD]
        count, source = facts["records"] + facts["unread"], recorded.sources[0]
        yield Finding("lines-lost", source, count, None, lost.tolist(), facts)
    frame = evidence.executions.frame
    if frame.height and not frame["duration_us"].count():
        first = [frame["at"][0]]
        yield Finding("no-durations", recorded.sources[0], frame.height, None, first, {})


def ending_findings(evidence: Evidence) -> Iterator[Finding]:
    """Programs that an error, a signal or an exit status other than 0 ended.

    A program that ran ops after it had printed a traceback went on; one that ends destroys what
    it has. Who presses Ctrl-C knows that it ended. SIGTERM is how a server ends: it never returns
    from its join().
    """
    eager = evidence.executions.eager
    ops = rows(evidence.executions.signatures["op"], eager["signature"])
    ran = eager["at"].filter(~ops.str.contains(_DESTROYS).fill_null(value=False))
    for ending in read_endings(evidence.events.spans):
        went_on = bool((ran > ending.at).any())
        error = None if went_on else ending.error
        if ending.status is None and (error is None or not ending.is_last):
            continue
        if ending.signal == "SIGINT" or (error or "").startswith("KeyboardInterrupt"):
            continue
        if ending.signal == "SIGTERM" and serves(evidence.events):
            continue
        file, line = (None if went_on else ending.frame) or (None, 0)
        python = f"{_as_recorded(file, evidence)}:{line}" if file else None
        message = _cut(error or ending.printed or "")
        subject = ending.signal or (error or "").partition(":")[0] or f"status {ending.status}"
        facts = {
            "status": ending.status,
            "signal": ending.signal,
            "error": message if error else None,
            "message": message.removeprefix(f"{subject}: "),
            "node": _node_of(_row_of(error or "", evidence), evidence),
            "printed": None if error else message,
            "python": python,
            "memory": ending.signal == "SIGKILL",
            "asked": ending.signal in _ASKED,
            "native": ending.signal,
        }
        facts |= _short_batch(error or "", evidence)
        if ending.status is None and (by_signal := _SIGNAL.match(error or "")):
            subject = by_signal[0]
            rest = message.removeprefix(subject).lstrip(", ")
            facts["message"] = rest if rest.strip(".") else None
            facts |= {"native": True, **_running(evidence)}
        failed = packaged_toml("endings.toml")["pytest"]["failed"]
        facts["tests"] = ending.status == 1 and bool(re.match(failed, ending.printed or ""))
        chosen = ending.status in _MEANT or facts["tests"]
        meant = ending.signal is None and error is None and chosen
        id_ = "exit-status" if meant else "crashed"
        yield Finding(id_, subject, 1, None, [ending.at], facts, python)


def _short_batch(error: str, evidence: Evidence) -> dict[str, Any]:
    """Where data are batched, if an error of shapes is of a batch that is shorter than others.

    It names two shapes that differ in their first size alone, and functions ran before.
    BatchDatasetV2 keeps what is left over as a last, shorter batch
    (core/kernels/data/batch_dataset_op.cc); its drop_remainder is an input, not an attribute.
    """
    shapes = [[int(size) for size in re.findall(r"\d+", shape)] for shape in _SHAPE.findall(error)]
    pairs = (
        (one, other)
        for one, other in combinations(shapes, 2)
        if one[0] != other[0] and one[1 : len(other)] == other[1 : len(one)]
    )
    one, other = next(pairs, ([], []))
    calls = evidence.executions.calls["call"].n_unique()
    eager = evidence.eager
    batched = eager.filter(pl.col("op").str.contains(_BATCH))["at"]
    places = evidence.lines.begun_at(batched).drop_nulls().unique()
    if not one or len(places) != 1 or calls <= 1:
        return {}
    few, many = sorted((one[0], other[0]))
    facts = {"edit": places[0], "few": few, "many": many, "message": None, "node": None}
    return facts if few else {}


def _row_of(error: str, evidence: Evidence) -> int | None:
    """The last execution whose failure ended the program: the error has its message."""
    text = pl.col("message").str.replace_all(_NODE_AROUND.pattern, "").str.strip_chars(" .")
    failures = evidence.failures.filter(text.str.len_chars() > 0)
    failures = failures.filter(pl.lit(_NODE_AROUND.sub("", error)).str.contains(text, literal=True))
    return next(iter(failures["row"].tail(1)), None)


def _as_recorded(path: str, evidence: Evidence) -> str:
    """A file as the lines of `record` name it, from the program's folder on; else its own name."""
    files = evidence.lines.stacks["python"].str.replace(r":\d+$", "").unique()
    path = path.replace("\\", "/")
    matches = [file for file in files if path == file or path.endswith(f"/{file}")]
    return max(matches, key=len, default=path.rpartition("/")[2])


def _failures(evidence: Evidence) -> Iterator[Finding]:
    """Failures by op, function and status code: each once, with what ended because of it."""
    kinds = evidence.failures.partition_by("op", "function", "code")
    for number, alike in enumerate(kinds):
        first = alike.row(0, named=True)
        ended = [name for names in alike["ended"].to_list() for name in names]
        facts = {
            "function": first["function"],
            "node": _node_of(first["row"], evidence),
            "times": alike.height if alike.height > 1 else None,
            "code": first["code"],
            "message": _cut(first["message"]),
            "ended": most(pl.Series(ended)) if ended else [],
            "later": number > 0,
            "first": bool(ended) or len(kinds) > 1,
        }
        at, python = alike["at"].to_list(), _line_of(first["row"], evidence)
        yield Finding("failed-ops", first["op"] or "?", alike.height, None, at, facts, python)


def _node_of(row: int | None, evidence: Evidence) -> str | None:
    """The node of an execution in a graph, where its name says more than its op."""
    node = None if row is None else _name_of(row, evidence)
    return node if "/" in (node or "") else None


def _name_of(row: int, evidence: Evidence) -> str | None:
    """The node of an execution."""
    node: str | None = spelled(evidence.timeline.columns("node", rows=pl.Series([row]))).item()
    return node


def _running(evidence: Evidence) -> dict[str, Any]:
    """The node or op that began last and has no end (`running`), else the last primitive."""
    executions = evidence.executions
    left = where(executions.frame["status"] == "unfinished")
    if len(left):
        op = executions.signatures["op"][executions.signature[int(left[-1])]]
        return {"running": _name_of(left[-1], evidence) or op}
    ran = evidence.events.primitives.filter(event="exec").tail(1)
    named = ran.select("primitive", "implementation", "problem").row(0) if ran.height else ()
    return {"ran": " ".join(filter(None, named))}


def _line_of(row: int | None, evidence: Evidence) -> str | None:
    """The line of the program that asked for an execution, else for the call that it is of."""
    executions, lines = evidence.executions, evidence.lines
    if row is None or lines.stacks.is_empty():
        return None
    call = executions.calls.filter(pl.col("call").eq_missing(executions.frame["call"][row]))["row"]
    callers = lines.named(rows(lines.of_executions, pl.Series([row, *call.head(1)])))
    return next(iter(callers.drop_nulls()), None)


def _cut(message: str) -> str:
    """A message as a sentence."""
    message = _WRAPPER.sub("", message)
    message = _NODE_AROUND.sub(r"node \1 ", _NODES_BEFORE.sub(r"\1", message)).strip()
    message = message.removesuffix(" name:").rstrip(".")  # ops.raise_from_not_ok_status: no name
    if len(message) > _MESSAGE:
        return message[: _MESSAGE - 1] + "…"
    return f"{message}." if message else ""


def _unfinished(evidence: Evidence) -> Iterator[Finding]:
    """What never ended. What tf.data runs on its own may be under way at the end of any program.

    Where the program ended by itself other text tore the records of the ends.
    """
    executions = evidence.executions
    left = only(executions.frame, executions.frame["status"] == "unfinished")
    causes = rows(executions.steps["cause"], left["step_row"])
    if evidence.ended or (causes == "dataset-function").sum() == left.height:
        return
    ops, at = rows(executions.signatures["op"], left["signature"]), left["at"].to_list()
    yield Finding("unfinished", ops[0] or "?", left.height, None, at, {"ops": most(ops)})


# ---- how the program ended -----------------------------------------------------------------------
# `record` writes its exit status as the last line (`recording/header.py`). A traceback is text of
# the program: lines without a prefix, which the end of each source has (`SourceSpan.tail`).
# `grammars/endings.toml` says how such ends look.

_FRAME = re.compile(r'^[ \t]*File "([^"\n]+)", line (\d{1,18})', re.MULTILINE)
_INSTALLED = re.compile(r"^<|/(?:site|dist)-packages/|/lib(?:64)?/python\d|__autograph_generated_")
_ERROR = re.compile(r"^[^\s].*$", re.MULTILINE)
# The outermost frame of the main thread: what nothing caught is printed from there on.
_OUTERMOST = re.compile(
    r'\s*File "[^"\n]+", line \d+, in (?:<module>|_run_module_as_main)$', re.MULTILINE
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MEANT = range(2, 126)  # 1 is Python's of an error, 126 and 127 a shell's of what it can't run
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
        text = _COLOURS.sub("", span.tail.decode("utf-8", "replace"))
        if footer:
            text = text[: text.rfind("\n", 0, -1) + 1]
        status = footer.get("status")
        if status == 0 or not text:
            continue
        signal = footer.get("signal")
        named = isinstance(signal, str) and re.fullmatch(r"SIG[A-Z0-9]+|signal \d+", signal)
        ending = Ending(0, status, signal if named else None)
        if isinstance(status, int) and status in _OF_SHELL and not named:
            ending = ending._replace(signal=signal_name(status - 128))
        ending, begin = _error(text, ending)
        after = text.count("\n", begin) + (not text.endswith("\n")) + bool(footer)
        ending = ending._replace(at=(span.first + span.lines - after) * PLACES)
        if ending.status is not None or ending.error is not None:
            yield ending


def _error(text: str, ending: Ending) -> tuple[Ending, int]:
    """The ending with its error, and where that begins in the text; else with the last line."""
    matches = [
        (hit.start(), hit, row) for pattern, row in _rows() for hit in pattern.finditer(text)
    ]
    for begin, match, row in sorted(matches, key=lambda entry: -entry[0])[:1]:
        before = text[: begin - 1].rpartition("\n")[2] if begin else ""
        if _pattern("not").match(before):
            break
        traceback = _pattern("between").sub("", text[match.end() + 1 :])
        error = match.groupdict().get("error")
        is_last = True
        if error is None:
            first = _ERROR.search(traceback)
            if first is None:
                break
            error, rest = first[0], traceback[first.end() :]
            more = re.search(packaged_toml("endings.toml")["more"]["begin"], error) is not None
            is_last = (more or not rest.strip()) and _OUTERMOST.match(traceback) is not None
            error, inner = _type_alone(error), _last_of(rest) if more else ""
            # AutoGraph raises the error of the user's code again, with "in user code:" before it.
            again = inner.startswith(f" {error.partition(':')[0]}: ")
            error = inner.strip() if again else error + inner
        frame = _nearest(_FRAME.findall(traceback), row.get("frames"))
        error, frame = _raised_in_cell(traceback) or (error, frame)
        return ending._replace(error=error, frame=frame, is_last=is_last), begin
    program_text = _pattern("own").sub("", text)
    begin = program_text.rfind("\n", 0, len(program_text.rstrip()) or None) + 1
    line = program_text[begin:].rstrip()
    return ending._replace(printed=None if _pattern("between").match(line) else line), begin


def _type_alone(error: str) -> str:
    """`tensorflow.python.framework.errors_impl.NotFoundError: …` without the modules."""
    return re.sub(r"^(?:\w+\.)+(?=\w+(?::|$))", "", error)


def _last_of(rest: str) -> str:
    """The last line of a message that says more than where: that of the error in it, if it has one.

    A message definition that TensorFlow printed between its lines, or in it, is left out.
    """
    more = packaged_toml("endings.toml")["more"]
    leave, error = re.compile(more["leave"]), re.compile(more["error"])
    lines = [line for line in rest.splitlines() if line.strip() and not leave.match(line)]
    named = [line for line in lines if error.match(line)]
    last = next(iter([*named[-1:], *lines[-1:]]), "").strip()
    return f" {last}" if last else ""


def _raised_in_cell(traceback: str) -> tuple[str, tuple[str, int] | None] | None:
    """The error of a notebook's cell and its nearest frame, if who ran the notebook quotes them."""
    header = next(reversed([*_pattern("cell").finditer(traceback)]), None)
    if header is None:
        return None
    quoted = traceback[header.end() :]
    errors = re.findall(rf"^{header['type']}(?::.*)?$", quoted, re.MULTILINE)
    cell_frame = re.compile(packaged_toml("endings.toml")["cell"]["frame"], re.MULTILINE)
    return next(reversed(errors), header["type"]), _nearest(cell_frame.findall(quoted), "last")


def _nearest(frames: list[tuple[str, str]], nearest: str | None) -> tuple[str, int] | None:
    """The nearest frame, the first or the last, that is not of something installed."""
    own_frames = [(path, int(line)) for path, line in frames if not _INSTALLED.search(path)]
    if not own_frames or nearest is None:
        return None
    return own_frames[-1] if nearest == "last" else own_frames[0]


@cache
def _rows() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    endings = packaged_toml("endings.toml")["ending"]
    return [(re.compile(row["pattern"], re.MULTILINE), row) for row in endings]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(packaged_toml("endings.toml")[name]["pattern"], re.MULTILINE)
