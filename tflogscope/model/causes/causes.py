"""The cause of each eager op: why Python asked for it outside a function.

A cause is inferred: no record says who asked. It follows from the ops around, for each rule reads
what TensorFlow's and Keras's Python code does in which order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tflogscope.events.events import WARNS_EAGER, Events
from tflogscope.model.causes.eager_ops import CONSTANT, EagerOps, read_eager_ops
from tflogscope.model.causes.patterns import Codes
from tflogscope.model.causes.rules import (
    RUN_EAGERLY,
    CauseGrammar,
    cause_grammar,
    causes_that_count,
)
from tflogscope.model.common.frames import Integers, alike, rows, where
from tflogscope.model.costs.python_lines import PythonLines
from tflogscope.model.executions.executions import Executions
from tflogscope.model.executions.instantiations import Instantiations
from tflogscope.model.executions.servers import serves


@dataclass(eq=False, repr=False)
class Causes:
    """Causes of eager ops, by row of `Dispatches.eager`.

    `rule` is a place in `CauseGrammar.rules`: -1 for calls, which have no cause. `proof` has for
    each rule the line of the record that proves it, -1 where the rule doesn't hold.
    """

    at: Integers
    rule: Integers
    proof: dict[str, Integers]

    @cached_property
    def named(self) -> pl.DataFrame:
        """What the rule of each dispatch says: id, cause, own (`CauseRule`); null for calls."""
        said = [(rule.id, rule.cause, rule.own) for rule in cause_grammar().rules]
        schema = {"id": pl.String, "cause": pl.String, "own": pl.Boolean}
        return rows(pl.DataFrame(said, schema, orient="row"), self.rule)

    @cached_property
    def proven_at(self) -> Integers:
        """The line of the record that proves the cause of each dispatch: its own, or another's."""
        places = self.at.copy()
        for number, rule in enumerate(cause_grammar().rules):
            here = np.flatnonzero(self.rule == number)
            places[here] = self.proof.get(rule.id, self.at)[here]
        return places


def read_causes(
    events: Events, executions: Executions, instantiations: Instantiations, lines: PythonLines
) -> Causes:
    """Find the first rule that fits each eager op; the last one fits all.

    Where TensorFlow warns that functions run eagerly, the rule that says so takes its place.

    Where the stack that asked for an op is known, rules that ask for frames need one of theirs in
    it; and where a frame proves another cause, that counts.
    """
    grammar = cause_grammar()
    number = {rule.id: place for place, rule in enumerate(grammar.rules)}
    eager = executions.dispatches.eager
    ops = read_eager_ops(events, executions, instantiations.kernels, grammar.variables)
    last = grammar.rules[-1].id if events.messages(WARNS_EAGER).is_empty() else RUN_EAGERLY
    chosen = np.full(eager.height, number[last], np.int64)
    proof = _proofs(grammar, ops, eager.height)
    if not lines.stacks.is_empty():
        for rule in grammar.rules:
            if rule.frames:
                proof[rule.id][without_frames(lines, rule.frames)] = -1
    for id_ in sorted(proof, key=number.__getitem__, reverse=True):
        chosen[proof[id_] >= 0] = number[id_]
    chosen[(eager["op"] == CONSTANT).fill_null(value=False).to_numpy()] = 0
    if serves(events):
        chosen[:] = number["other-process"]
    else:
        chosen[_fetches(executions)] = number["no-program"]
    chosen[where(eager["is_call"])] = -1
    causes = Causes(eager["at"].to_numpy(), chosen, proof)
    if lines.stacks.is_empty():
        return causes
    proven = frame_rules(lines, eager["op"], causes.named["cause"])
    for rule in grammar.rules:
        other = (causes.named["cause"] != rule.cause) | (causes.named["own"] != rule.own)
        row = where((proven == rule.id) & other)
        chosen[row] = number[rule.id]
        if rule.id in proof:
            proof[rule.id][row] = causes.at[row]
    return Causes(causes.at, chosen, proof)


def _fetches(executions: Executions) -> Integers:
    """Dispatches of an Identity that gets a tensor from another task.

    python/distribute/coordinator/values.py, RemoteValueImpl.fetch.
    """
    eager, runs = executions.dispatches.eager, executions.dispatches.runs
    of_runs = rows(eager[["op", "device"]], runs["dispatch"])
    task = r"^(/job:[^/]+(?:/replica:\d+)?/task:\d+)"
    elsewhere = runs["device"].str.extract(task) != of_runs["device"].str.extract(task)
    return np.unique(runs["dispatch"].filter((of_runs["op"] == "Identity") & elsewhere).to_numpy())


def _proofs(grammar: CauseGrammar, ops: EagerOps, height: int) -> dict[str, Integers]:
    """For each rule with patterns, the line that proves it for each dispatch; -1: none."""
    (number,) = alike(ops.word.to_frame())  # 0: between two threads
    values, first, code = np.unique(number, return_index=True, return_inverse=True)
    codes = Codes(grammar.words, ops.word[first[values > 0]], code - (0 in values))
    shown = [(rule.id, pattern) for rule in grammar.rules for pattern in rule.shown]
    spans = codes.find([(pattern.ops, pattern.within) for _, pattern in shown])
    is_op = ops.row >= 0
    at, row = np.append(ops.at, -1), ops.row[is_op]
    proof_at = {id_: np.full(height, -1) for id_, _ in shown}
    for (id_, _), span in zip(shown, spans, strict=True):
        # Of several proofs the last one counts; lines of one thread are in order.
        proof_at[id_][row] = np.maximum(proof_at[id_][row], at[span.spread(len(codes))][is_op])
    return proof_at


# ---- causes that a frame of the stack proves, in logs with the lines of `record` -----------------

# A frame, the rule that it proves, whether only for what makes variables, and causes that it
# doesn't stand against: a constant is one anywhere, and Keras' eager step holds all of these.
_MAKES = ("VarHandleOp", "AssignVariableOp")
_WIDER = ("constant", "py-function", "run-eagerly")
_PROVEN = (
    ("optimizer", "optimizer-variable", True),
    ("metric", "metric-variable", True),
    ("metric", "metric-update", False),
    ("gradient", "gradient", False),
)
# Keras' step, called by its loop and not traced: what is between it and an op. A step of the
# program's own has the name that Keras calls.
_IN_STEP = r"^(.*?)(?:<step>|[^<;]* (?:train|test|predict)_step);<loop>;"
_NOT_OF_STEP = "<(?:tracing|initializer|dataset|py_function)>"
_MADE = ("constant", "dataset", "lifted-initializer", "optimizer-slots", "variable-init")
# Frames of TensorFlow's and Keras' own loops, between an op and the nearest frame of the program.
_OWN = (("callback", "keras-own"), ("saving", "checkpoint"), ("loop", "keras-own"))
# What a metric of the program, or a function that a metric was given, asks for in other functions.
_OF_METRIC = r"^(?:[^<;][^;]*;)+<metric>(?:;|$)"
_MARK = r"(?:^|;)<[\w:.]+>"
_PACKAGE = r"^(?:<\w+>;)*<package:([^>]+)>;"
LIBRARY = "library"
"""The rule of what such a package ran in code of its own."""
# A callback reads the learning rate: Keras works a schedule out for it (Optimizer.learning_rate).
_OF_SCHEDULE = r"^<optimizer>;[^<;][^;]*;<callback>(?:;|$)"


def package_of(frames: pl.Expr) -> pl.Expr:
    """The module of an installed package that the nearest frame of the program called."""
    return frames.str.extract(_PACKAGE)


def program_frames(frames: pl.Expr) -> pl.Expr:
    """The program's own frames alone."""
    return frames.str.replace_all(_MARK, "")


def _runs_its_own(module: pl.Expr) -> pl.Expr:
    """Whether what a module of a package does is not the program's own."""
    packages = "|".join(map(re.escape, cause_grammar().parts_of_programs))
    return module.is_not_null() & ~module.str.contains(rf"^(?:{packages})(?:\.|$)")


def _own() -> pl.Expr:
    """The frames of TensorFlow and Keras between an op and the nearest frame of the program."""
    inner = pl.col("frames").str.extract(r"^((?:<\w+>;)*)")
    return inner.str.strip_chars("<>;").str.split(">;<")


def without_frames(lines: PythonLines, frames: Sequence[str]) -> Integers:
    """The eager ops whose stacks are known, with none of these frames between op and program."""
    lacking = lines.stacks.select(_own().list.set_intersection(list(frames)).list.len() == 0)
    return where(lacking.to_series()[lines.of_dispatches].fill_null(value=False))


def frame_rules(lines: PythonLines, ops: pl.Series, causes: pl.Series) -> pl.Series:
    """The id of the rule that a frame proves for each eager op; null: none does, or it has it.

    Args:
        lines: which stack asked for each op.
        ops: their types.
        causes: what the ops around show.
    """
    row = lines.of_dispatches
    frames = lines.stacks.select(
        own=_own(),
        mark=pl.col("frames").str.extract(r"^<(\w+)>(?:;|$)"),
        python=pl.col("frames").str.contains(r"(?:^|;)<py_function>(?:;|$)"),
        of_metric=pl.col("frames").str.contains(_OF_METRIC),
        of_schedule=pl.col("frames").str.contains(_OF_SCHEDULE),
        library=_runs_its_own(package_of(pl.col("frames"))),
        eager_step=~pl.col("frames").str.extract(_IN_STEP).str.contains(_NOT_OF_STEP),
    )
    table = pl.DataFrame(
        {"op": ops, "cause": causes, "row": row, "unasked": lines.unasked, "alone": lines.alone}
    )
    table = table.with_columns(frames.select(pl.all().gather(row)))
    made = table.filter(pl.col("op") == "VarHandleOp")["row"].drop_nulls().unique()
    # Setting a variable that exists is something else.
    makes = pl.col("op").is_in(_MAKES) & pl.col("row").is_in(made.implode())
    in_step = pl.col("eager_step") & ~pl.col("cause").is_in(_MADE) & ~makes
    saves = pl.col("own").list.contains("saving")
    proven = [
        pl.when(pl.col("python") & (pl.col("cause") != "constant")).then(pl.lit("python-code")),
        pl.when(in_step).then(pl.lit("keras-batch")),
        # What saves a model reads its variables, as a step does.
        pl.when(saves & (pl.col("cause") == "run-eagerly")).then(pl.lit("checkpoint")),
    ]
    never, always = causes_that_count("never"), causes_that_count("always")
    counts = ~pl.col("cause").is_in((*never, *always))
    proven.append(pl.when(counts & pl.col("library")).then(pl.lit(LIBRARY)))
    for mark, id_, only_made in _PROVEN:
        holds = (pl.col("mark") == mark) & ~pl.col("cause").is_in(_WIDER)
        proven.append(pl.when(holds & makes if only_made else holds).then(pl.lit(id_)))
    proven.append(pl.when(counts & pl.col("of_metric")).then(pl.lit("metric-update")))
    proven.append(pl.when(counts & pl.col("of_schedule")).then(pl.lit("keras-own")))
    proven.append(pl.when(counts & pl.col("unasked")).then(pl.lit("no-python")))
    proven.append(pl.when(counts & pl.col("alone")).then(pl.lit("no-program")))
    for mark, id_ in _OWN:
        proven.append(pl.when(counts & pl.col("own").list.contains(mark)).then(pl.lit(id_)))
    return table.select(rule=pl.coalesce(proven)).to_series()
