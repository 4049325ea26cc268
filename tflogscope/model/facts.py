"""What `run.summary` holds: the facts that `analyze` shows, counted from the tables.

Names that end in `_us` and `us` are durations in µs; None: the log does not say it. `_line` is a
line of the source, from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tflogscope.events.onednn_header import HeaderFacts

Mode = Literal["eager", "graph"]


@dataclass(frozen=True)
class Summary:
    """The facts of a run. `onednn` is None where the log has no verbose line of oneDNN."""

    recorded: Recorded
    eager: ModeRuns
    graph: ModeRuns
    nested: Nested
    ops: list[Op]
    """The most time first; where none is known, the most runs."""
    functions: list[Function]
    rewriters: Rewriters
    lines: list[ProgramLine]
    """The most eager time first."""
    onednn: OneDNN | None
    libraries: list[Library]
    rewrites: list[Rewrite]
    eligible: Eligible
    findings: list[FindingRow]
    answers: list[Answer]
    limits: list[Limit]

    def mode(self, name: Mode) -> ModeRuns:
        """What ran in one mode."""
        return self.eager if name == "eager" else self.graph


@dataclass(frozen=True)
class Recorded:
    """What was read: sources, lines by kind (as in the table `coverage`), dialect, level, versions.

    `first` and `last` are the times of the first and the last record: µs since 1970, in the local
    time of the log.
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
    onednn_unread_lines: int
    has_thread_ids: bool
    problems: list[str]
    """What is wrong with an input, in words."""
    first: int | None
    last: int | None
    span_us: int | None
    recorded_by_tflogscope: bool
    """Whether `tflogscope record` made the log."""
    tensorflow_version: str | None
    """As `tflogscope record` wrote it above the log."""


# ---- eager and graph -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ModeRuns:
    """What ran in one mode. Graph time adds up what ran at the same time on several threads."""

    kinds: dict[str, KindRuns]
    """By `kind`, as in the table `timeline`."""
    rewritten: RewrittenRuns
    has_durations: bool


@dataclass(frozen=True)
class KindRuns:
    """Executions of one kind. `dead` ones, on a branch not taken, are not in the others."""

    executions: int
    dead: int
    total_us: int | None


@dataclass(frozen=True)
class RewrittenRuns:
    """Executions of ops that were rewritten to a kernel of oneDNN or a plug-in."""

    executions: int
    total_us: int


@dataclass(frozen=True)
class Nested:
    """What sums of time would count twice: calls in calls, eager ops in Python code inside calls.

    `outer_us` is the time of the calls that are not inside others, from entering to leaving; `ops`
    and `ops_us` are the eager ops that Python code ran inside calls (`py_function`).
    """

    outer_us: int | None
    ops: int
    ops_us: int | None


@dataclass(frozen=True)
class Op:
    """An op type, eager against graph. `source` has its first line."""

    op: str | None
    source: str
    eager: OpRuns
    graph: OpRuns


@dataclass(frozen=True)
class OpRuns:
    """How often and how long an op type ran in one mode, and as which kernels.

    `rewritten` counts the runs of rewritten ops that did not fail. Lines are None where it never
    ran.
    """

    runs: int
    us: int | None
    first_line: int | None
    last_line: int | None
    rewritten: int
    kernels: list[str | None]
    rewrites: list[str]
    rewritten_first_line: int | None
    rewritten_last_line: int | None


@dataclass(frozen=True)
class Function:
    """A row of the table `functions`, with its first call and the later ones.

    `first_us` is the time of the first call, `later_us` the mean of the later ones and `took_us`
    that of all, from entering to leaving: what made the function ready is in the first call.
    `xla_calls` ran code that XLA compiled. `made_by` is the file that makes the function, if it is
    TensorFlow's own.
    """

    function: str | None
    function_uid: int | None
    flavour: str
    traces: int
    instantiated_line: int | None
    instantiation_us: int | None
    calls: int
    total_us: int | None
    mean_us: float | None
    nodes: int
    eligible_nodes: int
    rewritten_nodes: int
    first_line: int
    python: str | None
    first_us: int | None
    later_us: float | None
    took_us: int | None
    xla_calls: int
    made_by: str | None


@dataclass(frozen=True)
class ProgramLine:
    """What a line of the program asked for; empty in logs that `record` did not make.

    `function` is its function in Python. `eager_runs` and `eager_us` leave calls out; `ops` are
    eager op types, the most time first (None: no eager op); `graph_runs` and `graph_us` are of
    nodes that it made.
    """

    source: str
    first_line: int
    python: str
    function: str
    eager_runs: int
    eager_us: int | None
    calls: int
    graph_runs: int
    graph_us: int | None
    ops: list[str | None] | None


# ---- oneDNN and plug-ins -------------------------------------------------------------------------


@dataclass(frozen=True)
class Rewriters:
    """Whose `kernels` ops were rewritten to, and whose `primitives` ran.

    `kernels` is oneDNN where no op was rewritten. `knows` says in words whose passes looked at the
    nodes: `ITEX or the layout pass know`.
    """

    kernels: list[str]
    primitives: list[str]
    knows: str


@dataclass(frozen=True)
class OneDNN:
    """What oneDNN ran. `links` counts the lines by how sure it is which op ran them."""

    header: HeaderFacts
    exec_lines: int
    exec_us: float
    links: dict[str, int]
    linked_us: float
    primitives: list[Primitive]
    implementations: list[Implementation]
    reference_implementations: list[Implementation]
    reorders: list[Reorder]
    first_use: FirstUse
    created: list[Created]
    ops: PrimitiveOps
    unparsed: int


@dataclass(frozen=True)
class Library:
    """What the library of a plug-in ran, as far as it prints lines of its own."""

    library: str
    exec_lines: int
    exec_us: float | None
    links: dict[str, int]
    implementations: list[Implementation]


@dataclass(frozen=True)
class Primitive:
    """Runs of a primitive."""

    primitive: str | None
    count: int
    us: float


@dataclass(frozen=True)
class Implementation:
    """Runs of an implementation of a primitive. `us` is None only where a plug-in ran it."""

    primitive: str | None
    implementation: str | None
    count: int
    us: float | None


@dataclass(frozen=True)
class Reorder:
    """Reorders that a node caused."""

    node: str | None
    kernel: str | None
    count: int
    us: float


@dataclass(frozen=True)
class Created:
    """Primitives that were created, by the event that says so: `create:cache_miss`."""

    event: str
    count: int
    us: float


@dataclass(frozen=True)
class FirstUse:
    """First and later runs of each (primitive, implementation, problem) that ran again."""

    problems: int
    first_us: float
    later_runs: int
    later_us: float


@dataclass(frozen=True)
class PrimitiveOps:
    """Executions of ops that ran primitives, and the time of these primitives."""

    executions: int
    total_us: int
    primitive_us: float


@dataclass(frozen=True)
class Rewrite:
    """Rewrites to one kernel, by whom; `never_ran` of them did not run."""

    by: str
    to_op: str | None
    count: int
    never_ran: int
    first_line: int


@dataclass(frozen=True)
class Eligible:
    """Nodes that ran and that oneDNN or a plug-in could run; the most frequent reason first."""

    nodes: int
    rewritten: int
    reasons: list[Reason]


@dataclass(frozen=True)
class Reason:
    """Nodes that a reason (as in the table `nodes`) kept as they were."""

    reason: str
    nodes: int
    executions: int
    total_us: int | None
    ops: list[ReasonOp]
    first_line: int


@dataclass(frozen=True)
class ReasonOp:
    """How many of these nodes are of one op type."""

    op: str | None
    nodes: int


# ---- sentences -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class FindingRow:
    """A row of the table `findings`."""

    id: str
    severity: str
    subject: str
    count: int
    time_us: float | None
    text: str
    advice: str
    source: str | None
    line: int | None
    lines: str | None
    python: str | None


@dataclass(frozen=True)
class Answer:
    """An answer to what people ask of such a log."""

    id: str
    text: str
    evidence: list[Example]


@dataclass(frozen=True)
class Example:
    """An op that an answer is about, and where it ran.

    `eager_lines` are its first and its last line; None: the answer is not about eager runs.
    """

    op: str | None
    source: str
    eager_lines: tuple[int, int] | None
    graph_line: int | None


@dataclass(frozen=True)
class Limit:
    """What the log can't say, and why."""

    id: str
    text: str
