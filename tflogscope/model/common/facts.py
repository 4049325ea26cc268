"""What `run.summary` holds: frames counted from the tables, and figures beside them.

Names that end in `_us` and `us` are durations in µs; null: the log does not say it. `_line` is a
line of the source, from 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import polars as pl

from tflogscope.events.onednn_header import HeaderFacts
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.verbose import Verbose

Mode = Literal["eager", "graph"]
_MANY_UNKNOWN = 0.02  # of all kept logs the most is 3 of 663 records


class Recorded(NamedTuple):
    """What was read: sources, lines by kind (as in the table `coverage`), dialect, level, versions.

    `problems` says in words what is wrong with an input. `first` and `last` are the times of the
    first and the last record: µs since 1970, in the local time of the log. `tensorflow_version` is
    what `tflogscope record` wrote above the log. `envelope` is what was around each line, `process`
    which of several processes of the input it is, as that says.
    """

    sources: list[str]
    bytes: int
    lines: int
    records: int
    recognised: int
    ignored: int
    unknown: int
    continuation: int
    blank: int
    torn: int
    bad_bytes: int
    vlog_level: int | None
    tensorflow_dialect: str | None
    onednn_version: str | None
    onednn_verbose_lines: int
    mkl_lines: int
    onednn_unread_lines: int
    has_thread_ids: bool
    problems: list[str]
    first: int | None
    last: int | None
    span_us: int | None
    recorded_by_tflogscope: bool
    tensorflow_version: str | None
    envelope: str | None
    process: str | None
    others_cpu_share: float | None

    @property
    def is_busy(self) -> bool:
        """Whether other processes used so much of the machine that times say little."""
        share = self.others_cpu_share
        return share is not None and share >= threshold("machine.busy_share")

    @property
    def many_unknown(self) -> int:
        """Records of files that the grammar knows which have another form; 0 if they are few."""
        count = self.unknown - self.onednn_unread_lines
        return count if count > _MANY_UNKNOWN * (count + self.recognised) else 0


class KindRuns(NamedTuple):
    """Executions of one kind. `dead` ones, on a branch not taken, are not in the others."""

    executions: int
    dead: int
    steady_us: float | None
    total_us: int | None

    @property
    def time_us(self) -> float | None:
        """What shares go by: the time without the log, or as printed if that is not known."""
        return self.total_us if self.steady_us is None else self.steady_us


class RewrittenRuns(NamedTuple):
    """Executions of ops that were rewritten to a kernel of oneDNN or a plug-in."""

    executions: int
    steady_us: float | None
    total_us: int

    @property
    def time_us(self) -> float:
        """As in KindRuns."""
        return self.total_us if self.steady_us is None else self.steady_us


class ModeRuns(NamedTuple):
    """What ran in one mode, by `kind`. Graph time adds up what ran at once on several threads."""

    kinds: dict[str, KindRuns]
    rewritten: RewrittenRuns
    has_durations: bool


class Nested(NamedTuple):
    """What sums of time would count twice: calls in calls, eager ops in Python code inside calls.

    `outer_us` is the time of the calls that are not inside others, from entering to leaving; `ops`
    and `ops_us` are the eager ops that Python code ran inside calls (`py_function`).
    """

    outer_us: float | None
    ops: int
    ops_us: float | None


class Slowed(NamedTuple):
    """How much the log slowed the run, estimated (`model/costs/costs.py`).

    `function` is the one whose calls took longest, None: none was called twice; `later_us` and
    `printed_us` are the medians of its later calls without the log and as printed. `logged_us` is
    what writing the log took of `span_us`, the whole run (the table `time`). `calibrated`: its
    times are those of a run without a log (`record --calibrate`).
    """

    function: str | None
    later_us: float | None
    printed_us: float | None
    logged_us: float
    span_us: int
    calibrated: bool


class Rewriters(NamedTuple):
    """Whose `kernels` ops were rewritten to, and whose `primitives` ran.

    `kernels` is oneDNN where no op was rewritten. `knows` says in words whose passes looked at the
    nodes: `ITEX or the layout pass know`.
    """

    kernels: list[str]
    primitives: list[str]
    knows: str


class FirstUse(NamedTuple):
    """First and later runs of each problem that ran again: its shape, types, layouts and way."""

    problems: int
    first_us: float
    later_runs: int
    later_us: float


class PrimitiveOps(NamedTuple):
    """Executions of ops that ran primitives, and the time of these primitives."""

    executions: int
    time_us: float
    primitive_us: float


class OneDNN(NamedTuple):
    """What oneDNN ran. `links` counts the lines by how sure it is which op ran them.

    The frames have count and us (µs), the most time first, by primitive; by implementation, too;
    by the node and kernel that caused a reorder; by event, `create:cache_miss`.
    """

    header: HeaderFacts
    exec_lines: int
    exec_us: float
    links: dict[str, int]
    linked_us: float
    primitives: pl.DataFrame
    implementations: pl.DataFrame
    reference_implementations: pl.DataFrame
    reorders: pl.DataFrame
    first_use: FirstUse
    created: pl.DataFrame
    ops: PrimitiveOps
    unparsed: int
    verbose: Verbose


class Library(NamedTuple):
    """What the library of a plug-in ran, as far as it prints lines of its own; us may be null."""

    library: str
    exec_lines: int
    exec_us: float | None
    links: dict[str, int]
    implementations: pl.DataFrame


class Eligible(NamedTuple):
    """Nodes that ran and for which a kernel of oneDNN or a plug-in exists, and their runs.

    `on_kernels` of the `runs` were on such kernels, which is oneDNN's share. `rewritten`: nodes.
    `reasons` has a row for each reason (as in the table `nodes`) that kept some as they were, the
    most frequent first: reason, nodes, executions, total_us, ops (op, nodes), first_line.
    """

    nodes: int
    rewritten: int
    runs: int
    on_kernels: int
    reasons: pl.DataFrame


class Example(NamedTuple):
    """An op that an answer is about, and where it ran.

    `eager_lines` are its first and its last line; None: the answer is not about eager runs.
    """

    op: str | None
    source: str
    eager_lines: tuple[int, int] | None
    graph_line: int | None


class Answer(NamedTuple):
    """An answer to what people ask of such a log."""

    id: str
    text: str
    evidence: list[Example]


class Limit(NamedTuple):
    """What the log can't say, and why."""

    id: str
    text: str


class Lead(NamedTuple):
    """What a verdict says of the finding that comes first, and what an error said.

    `id` is that of the finding, `edit` the line of the program to change, where that is not the one
    at which it shows.
    """

    id: str
    words: str
    message: str
    edit: str | None = None


class Summary:
    """The facts of a run, each made when first asked for.

    `ops`, `functions` and `lines` have a row for each op type, graph function and line of the
    program (`summary.op_facts`, `function_facts`, `PythonLines.facts`), `rewrites` one for each
    kernel that ops were rewritten to; `findings` is the table, and `lead` is of its first row that
    is an error or a warning. `onednn` is None where the log has no verbose line of oneDNN.
    """

    recorded: Recorded
    eager: ModeRuns
    graph: ModeRuns
    nested: Nested
    ops: pl.DataFrame
    functions: pl.DataFrame
    rewriters: Rewriters
    lines: pl.DataFrame
    onednn: OneDNN | None
    libraries: list[Library]
    rewrites: pl.DataFrame
    eligible: Eligible
    findings: pl.DataFrame
    lead: Lead | None
    answers: list[Answer]
    limits: list[Limit]
    slowed: Slowed | None

    def __init__(self, **made: Callable[[], Any]) -> None:
        """`made`: what makes each of the facts."""
        self._made = made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._made:
            raise AttributeError(name)
        found = vars(self)[name] = self._made[name]()
        return found

    def _asdict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._made}

    def mode(self, name: Mode) -> ModeRuns:
        """What ran in one mode."""
        return self.eager if name == "eager" else self.graph
