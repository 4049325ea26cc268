"""Variables as they are made eagerly: which ops make one, and what it is for.

python/ops/resource_variable_ops.py, ResourceVariable._init_from_args: the initial value, then
`VarHandleOp`, then `AssignVariableOp`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tflogscope.model.causes.eager_sequence import EagerSequence, Flags, Integers
from tflogscope.model.executions import Executions

# Ops that begin an initial value, and those that go on with one: keras/initializers,
# python/ops/init_ops_v2.py.
_STATELESS = r"StatelessRandom(?:Normal|Uniform)V2|StatelessTruncatedNormalV2"
_STATEFUL = r"RandomStandardNormal|RandomUniform|TruncatedNormal"
_RESTORED = "RestoreV2"  # checkpoint/restore.py, CheckpointInitialValueCallable
_VALUE = rf"Fill|{_STATEFUL}|{_STATELESS}|{_RESTORED}"
_DERIVED = (
    r"Mul|AddV2|Sub|Cast|Reshape|Transpose|Qr|DiagPart|MatrixDiagPartV3|MatrixDiagV3|Sign"
    r"|Slice|StridedSlice|ConcatV2"
)
# What metrics add up: keras metrics, Reduce, confusion metrics, MeanIoU. Reduce has a `count`
# beside its `total`; a layer may have one too (Normalization).
_METRIC_NAME = (
    r"(?:^|/)(?:total|(?:true|false)_(?:positives|negatives)|accumulator"
    r"|total_cm|total_confusion_matrix)(?:_\d+)?/$"
)
_METRIC_COUNT = r"(?:^|/)count(?:_\d+)?/$"
_LAYER_NAME = r"./.+/$"
# What clips gradients before they are applied: python/ops/clip_ops.py.
_CLIPS = (
    "L2Loss|Pack|Sum|Mul|Sqrt|Square|RealDiv|Minimum|Maximum|IsFinite|IsInf|Sub|Greater|Select"
    "|SelectV2|ClipByValue|AddN|Cast"
)
_MADE = ("VarHandleOp", "AssignVariableOp")


@dataclass(frozen=True)
class _Makings:
    """Variables as they are made, by position of their `VarHandleOp`."""

    handle: Integers
    value: Integers
    """Where the initial value begins."""
    end: Integers
    """What follows the last op."""
    names: pl.Series
    """Null: the log prints none."""
    scalar: Flags
    """Whether it is a scalar that is filled."""


def variable_facts(
    sequence: EagerSequence, executions: Executions, kernels: pl.DataFrame
) -> dict[str, Integers]:
    """Return `variable`, `optimizer`, `metric`: the line of the evidence for each position."""
    made = _read_makings(sequence, executions, kernels)
    at = sequence.at[made.handle]
    slot = _slots(sequence, executions, made)
    optimizer = np.maximum(_scope_of_iteration(at, made.names), slot)
    start = np.where(
        _from_initializer(sequence, made, slot >= 0) | (optimizer >= 0), made.value, made.handle
    )
    # While a function is traced metrics may be made right after the slots; not where ops run.
    of_metric = _of_metric(made, start) & ~_ran_eagerly(sequence, executions, slot)
    metric = np.where(of_metric, at, -1)
    return {
        "variable": sequence.spread(start, made.end, at),
        "optimizer": sequence.spread(start, made.end, optimizer),
        "metric": sequence.spread(start, made.end, metric),
    }


def _read_makings(
    sequence: EagerSequence, executions: Executions, kernels: pl.DataFrame
) -> _Makings:
    handle = np.flatnonzero(sequence.is_op("VarHandleOp"))
    said = _said_of(sequence.row[handle], executions, kernels)
    value = _value_start(sequence)[handle]
    # A strategy ends with a `NoOp` that groups the assignments to all replicas.
    assigned = sequence.after(sequence.is_op("AssignVariableOp"))[handle]
    grouped = assigned & sequence.after(sequence.is_op("NoOp"), 2)[handle]
    scalar = said["scalar"].fill_null(False).to_numpy() & sequence.is_op("Fill")[value]
    return _Makings(
        handle, value, handle + 1 + assigned + grouped, said["name"], scalar & (value < handle)
    )


def _said_of(dispatch: Integers, executions: Executions, kernels: pl.DataFrame) -> pl.DataFrame:
    """What the kernels of `VarHandleOp`s say of each variable: name (after 2.13), scalar.

    Null where the log does not tell. A kernel is made for each new name, type and shape, while the
    op runs, and used again: the function that it is in has a handle. 2.8 has neither,
    and makes the kernel before it dispatches the op.
    """
    numbered = pl.DataFrame({"dispatch": dispatch}).with_row_index("number")
    runs = executions.dispatches.runs.select(
        pl.col("dispatch").cast(pl.Int64), pl.col("handle").cast(pl.Int64)
    ).unique("dispatch", keep="first")
    eager = executions.dispatches.eager.select(pl.col("dispatch").cast(pl.Int64), "at")
    numbered = numbered.join(runs, on="dispatch", how="left").join(eager, on="dispatch", how="left")
    wrapped = numbered["handle"].is_not_null().any()
    attributes = pl.col("attributes")
    made = (
        kernels.filter(pl.col("op") == "VarHandleOp")
        .select(
            "at",
            name=attributes.str.extract(r'debug_name="([^"]*)"', 1),
            scalar=attributes.str.contains(r"\bshape=\[\]"),
        )
        .sort("at")
        .join_asof(numbered.sort("at"), on="at", strategy="backward" if wrapped else "forward")
        .drop_nulls("number")
    )
    by = "handle" if wrapped else "number"
    known = made.drop_nulls(by).unique(by, keep="first").select(by, "name", "scalar")
    return numbered.sort("number").join(known, on=by, how="left", maintain_order="left")


# ---- the initial value ------------------------------------------------------------------------


def _value_start(sequence: EagerSequence) -> Integers:
    """For each position, where the initial value of a variable made there begins."""
    value = sequence.is_op(_VALUE)
    restored = sequence.before(sequence.is_op(_RESTORED))
    derived = sequence.is_op(_DERIVED) | (sequence.is_op("Identity") & restored)
    before = np.maximum(sequence.position - 1, 0)
    last_value = sequence.last(value)[before]
    last_other = sequence.last(~value & ~derived)[before]
    last_joined = sequence.last(sequence.is_op("ConcatV2"))[before]
    known = (last_value > last_other) & ~sequence.begins
    # A value may be joined of several: the bias of an LSTM, zeros but for the forget gate.
    joined = known & (last_joined > last_value)
    start = np.where(known, last_value, sequence.position)
    start[joined] = sequence.next(value)[np.maximum(last_other, sequence.first)][joined]
    # Stateless random values begin with a key and a counter; Keras 3 works out the seed before.
    start -= known & sequence.before(sequence.is_op("StatelessRandomGetKeyCounter"))[start]
    seed = np.zeros(len(sequence) + 3, bool)
    seed[sequence.chain("Cast", "FloorMod", "Cast") + 3] = True
    start -= 3 * (known & seed[start])
    # A Python value that is given its type (Keras 3, convert_to_tensor), or the shape of a variable
    # of one element (constant_op.py, _constant_eager_impl).
    given = ~known & sequence.before(sequence.is_op("Cast|Reshape"))
    return start - given


def _from_initializer(sequence: EagerSequence, made: _Makings, slot: Flags) -> Flags:
    """Whether making the variable includes making its value: then it is from an initializer.

    In `tf.Variable(tf.zeros(4))` Python asks for the value before there is a variable. A layer
    of Keras gives an initializer. It shows in the name, `layer/weight`; before there were names,
    in random values that are stateless, in scalars that are filled, and in Keras being at work.
    """
    handle, value = made.handle, made.value
    if not len(handle):
        return np.zeros(0, bool)

    def has(ops: str) -> Flags:
        return (sequence.last(sequence.is_op(ops))[handle] >= value) & (value < handle)

    stateless = has(_STATELESS)
    sure = stateless | has(_RESTORED) | made.scalar
    # Initializers of Keras are stateless from 2.9 on; others may be tf.random's.
    plain = ~has(_STATEFUL)
    named = made.names.str.contains(_LAYER_NAME).fill_null(False).to_numpy()
    named |= _named_as_metric(made.names)
    # A model begins with three counters (Keras 2, engine/training.py, _init_batch_counters).
    counters = np.isin(handle, sequence.chain(*_MADE * 3)) & (value == handle)
    keras = sequence.at[handle[counters | (sure & ~slot)]].min(initial=np.iinfo(np.int64).max)
    # Layers that stand in a row before the model that takes them (functional models).
    row = np.cumsum(np.append(True, value[1:] != made.end[:-1]))
    in_row = np.isin(row, row[counters | sure])
    at_work = made.names.is_null().to_numpy() & (in_row | (sequence.at[handle] >= keras))
    at_work &= ~sequence.is_op("Reshape")[value]
    found: Flags = sure | (named & plain) | (at_work & (plain | ~stateless.any()))
    return found


# ---- what it is for ---------------------------------------------------------------------------


def _scope_of_iteration(handles: Integers, names: pl.Series) -> Integers:
    """The handle of the `iteration` of the optimizer in whose scope a variable is, -1: none.

    keras/src/optimizers/base_optimizer.py (3.x): `adam/iteration`, `adam/dense_kernel_momentum`.
    """
    scope = names.str.extract(r"^(.*?/)", 1)
    counts = names.str.ends_with("/iteration/").fill_null(False)
    owners = (
        pl.DataFrame({"scope": scope, "by": handles}).filter(counts).unique("scope", keep="first")
    )
    found = pl.DataFrame({"scope": scope}).join(
        owners, on="scope", how="left", maintain_order="left"
    )
    return found["by"].fill_null(-1).to_numpy()


def _slots(sequence: EagerSequence, executions: Executions, made: _Makings) -> Integers:
    """The end of the gradients that had just been worked out when a variable was made, -1: none.

    An optimizer makes its variables when it first applies gradients (keras 2.x optimizers,
    apply_gradients): after the tape, and before any other op that does not clip them.
    """
    ends = executions.events.messages("tape_end").select("thread", end="at")
    start = made.value
    between = sequence.is_op(f"ReadVariableOp|Identity|{_CLIPS}")
    other = (sequence.spread(start, made.end, made.handle) < 0) & ~between
    last_other = sequence.last(other)[np.maximum(start - 1, 0)]
    begin = np.where((last_other >= 0) & (start > 0), sequence.at[np.maximum(last_other, 0)], -1)
    numbered = pl.DataFrame(
        {"at": sequence.at[start], "thread": sequence.thread[start], "begin": begin}
    ).with_row_index("number")
    found = (
        numbered.sort("at")
        .join_asof(
            ends.sort("end"), left_on="at", right_on="end", by="thread", check_sortedness=False
        )
        .sort("number")
    )
    valued = sequence.is_op("Fill|Reshape")[start] if len(start) else np.zeros(0, bool)
    end = found["end"].fill_null(-1).to_numpy()
    return np.where(valued & (end > begin), end, -1)


def _ran_eagerly(sequence: EagerSequence, executions: Executions, end: Integers) -> Flags:
    """Whether eager ops ran between the start and the end of these gradients (-1: none)."""
    starts = np.sort(executions.events.messages("tape_start")["at"].to_numpy())
    if not len(starts):
        return np.zeros(len(end), bool)
    begin = starts[np.maximum(np.searchsorted(starts, end) - 1, 0)]
    at = np.sort(sequence.at)
    found: Flags = (end >= 0) & (np.searchsorted(at, end) > np.searchsorted(at, begin))
    return found


def _of_metric(made: _Makings, start: Integers) -> Flags:
    """Whether each variable is a metric's: by its name, or as one of two scalar zeros in a row.

    keras metrics, Reduce.__init__: `total` and `count`. `start`: where each making begins.
    """
    zero = made.scalar & (start < made.handle) & made.names.is_null().to_numpy()
    with_next = zero[:-1] & zero[1:] & (start[1:] == made.end[:-1])
    pair = np.append(with_next, False) | np.append(False, with_next)
    found: Flags = _named_as_metric(made.names) | pair[: len(zero)]
    return found


def _named_as_metric(names: pl.Series) -> Flags:
    """Whether the name of each variable is one that metrics of Keras give."""
    total = names.str.contains(_METRIC_NAME).fill_null(False).to_numpy()
    count = names.str.contains(_METRIC_COUNT).fill_null(False).to_numpy()
    found: Flags = total | (count & np.append(False, total)[: len(total)])
    return found
