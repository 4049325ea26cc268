"""What stands around each eager op: the facts that the rules of `causes` ask for.

A fact is the line (over all sources, from 0) of the record that proves it, -1 where it does not
hold; so the facts that made a rule fire are its evidence as well.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.causes.eager_sequence import CALL, EagerSequence, Flags, Integers
from tflogscope.model.causes.metric_facts import metric_facts
from tflogscope.model.causes.rules import CONSTANT, DATASET_OP, PYTHON_OP
from tflogscope.model.causes.variable_facts import variable_facts
from tflogscope.model.executions import Executions
from tflogscope.model.pairing import match_nested

Facts = dict[str, Integers]

# Ops that begin a dataset; all others take one as input.
_SOURCE = r"(?:Range|TensorSlice|Tensor|Generator|TFRecord|TextLine|Random)Dataset\w*"
# Other ops that building a dataset asks for, in a row of their own.
_DATASET_CHAINS = (
    # data/util/random_seed.py, get_seed: a seed of two zeros is put right
    ("Equal", "Equal", "LogicalAnd", "Select|SelectV2"),
    # keras 2.x, engine/data_adapter.py, DataHandler._infer_steps
    ("DatasetCardinality", "Equal", "GreaterEqual"),
    # data/ops/dataset_ops.py, list_files
    ("MatchingFiles", "Shape", "StridedSlice", "Greater", "ReduceJoin", "Add", "Identity"),
    # data/ops/sample_from_datasets_op.py
    ("Log", "ExpandDims", "Equal", "Equal", "LogicalAnd", "Select|SelectV2"),
)
# keras 2.x, engine/data_adapter.py: DataHandler reads a counter twice before it makes an iterator
# (_truncate_execution_to_epoch), or asks a dataset for its length (_infer_steps).
_HANDLER = (
    ("ReadVariableOp", "Identity", "ReadVariableOp", "Identity", r"AnonymousIterator(?:V\d)?"),
    ("DatasetCardinality", "Equal", "GreaterEqual"),
)
# eager/backprop.py, GradientTape.jacobian: the target made flat, a loop over its elements as a
# function, and the result put in shape.
_JACOBIAN = ("Shape", "Reshape", CALL, "Shape", "StridedSlice", "ConcatV2", "Reshape")


def read_facts(executions: Executions, kernels: pl.DataFrame) -> Facts:
    """Return the facts, each with one value per row of `Dispatches.eager`.

    `kernels` are those of `Instantiations.kernels`.
    """
    eager = executions.dispatches.eager
    python = _python(executions)
    constant = (eager["op"] == CONSTANT).fill_null(False).to_numpy()
    sequence = EagerSequence(eager, constant | (python >= 0))
    dataset = sequence.is_op(DATASET_OP)
    facts = {
        "initialized": _initialized(sequence),
        "dataset": np.maximum.reduce(
            [_chains(sequence, *_DATASET_CHAINS), _weights(sequence), _distributed(sequence)]
        ),
        "checkpoint": _checkpoint(sequence),
        "read": _reads(sequence),
        "batch": _keras_batch(sequence, dataset),
        "tape": _tape(sequence, executions),
        "jacobian": _chains(sequence, _JACOBIAN),
        "loop": _loop(sequence),
        **metric_facts(sequence, dataset),
        **variable_facts(sequence, executions, kernels),
    }
    found = {"python": python}
    for name, by_position in facts.items():
        found[name] = np.full(eager.height, -1, np.int64)
        found[name][sequence.row] = by_position
    return found


def _reads(sequence: EagerSequence) -> Integers:
    """The read whose value an `Identity` hands on; two of them where a strategy holds copies."""
    read, handed_on = sequence.is_op("ReadVariableOp"), sequence.is_op("Identity")
    once = handed_on & sequence.before(read)
    twice = handed_on & sequence.before(once)
    found = np.full(len(sequence), -1, np.int64)
    for distance, flags in ((1, once), (2, twice)):
        found[flags] = sequence.at[np.flatnonzero(flags) - distance]
    return found


def _chains(sequence: EagerSequence, *chains: tuple[str, ...]) -> Integers:
    """The line of the first op of a chain, for all of its ops but calls."""
    found = np.full(len(sequence), -1, np.int64)
    for chain in chains:
        begin = sequence.chain(*chain)
        found = np.maximum(found, sequence.spread(begin, begin + len(chain), sequence.at[begin]))
    return found


def _weights(sequence: EagerSequence) -> Integers:
    """The dataset before which a tensor is taken apart, one slice for each of its elements.

    keras 2.8 to 2.10, engine/training_utils.py, handle_partial_sample_weights: `any(w is not None
    for w in sample_weights)`, where these are one tensor.
    """
    cut = sequence.is_op("StridedSlice")
    last = np.flatnonzero(
        cut & sequence.before(cut) & sequence.after(sequence.is_op("RangeDataset"))
    )
    first = np.maximum(sequence.last(~cut) + 1, sequence.first)[last]
    return sequence.spread(first, last + 1, sequence.at[last + 1])


def _distributed(sequence: EagerSequence) -> Integers:
    """The element that a strategy took, for the ops that ask which of its devices got one.

    distribute/input_lib.py, _calculate_replicas_with_values: a number for each device, and sums.
    """
    asked = sequence.is_op("OptionalHasValue")
    first = asked & sequence.before(sequence.is_op("IteratorGetNextAsOptional"))
    begin = np.flatnonzero(first & sequence.after(sequence.is_op("Cast")))
    other = sequence.next(~sequence.is_op("OptionalHasValue|Cast|Pack|Range|Sum|Reshape|Greater"))
    end = np.minimum(sequence.next(sequence.is_op("Greater")) + 1, other)[begin]
    return sequence.spread(begin, end, sequence.at[begin - 1])


def _checkpoint(sequence: EagerSequence) -> Integers:
    """The op that writes or reads files, for all that saving and restoring variables asks for.

    python/checkpoint/functional_saver.py (before 2.10 training/saving), MultiDeviceSaver.save,
    from the name of the files to their merging; and restore.
    """
    handed_on = sequence.is_op("Identity")
    name = sequence.chain("StaticRegexFullMatch", "Select|SelectV2", "StringJoin")
    merged = sequence.is_op("MergeV2Checkpoints")
    end = sequence.next(merged)[name]
    saved = (end < sequence.end[name]) & (end < sequence.next(sequence.is_op(CALL))[name])
    begin, end = name[saved], end[saved]
    until = end + 1 + np.append(sequence.after(handed_on), False)[end]
    read = np.flatnonzero(sequence.is_op("RestoreV2"))
    given = "RestoreV2|Identity|NoOp|AssignVariableOp"
    restored = sequence.next(~sequence.is_op(given))[read]
    return np.maximum(
        sequence.spread(begin, until, sequence.at[end]),
        sequence.spread(read, restored, sequence.at[read]),
    )


def _python(executions: Executions) -> Integers:
    """The `EagerPyFunc`, a node or an eager op, whose Python code asked for the op."""
    runs, eager = executions.runs, executions.dispatches.eager
    is_python = (runs.definitions["kernel"] == PYTHON_OP).fill_null(False).to_numpy()
    rows = np.flatnonzero(is_python[runs.definition])
    nodes = pl.DataFrame(
        {
            "at": runs.at[rows],
            "end_at": runs.end_at.gather(rows),
            "thread": executions.events.threads[runs.site[rows]],
        }
    )
    spans = pl.concat([nodes, eager.filter(pl.col("op") == PYTHON_OP).select(nodes.columns)])
    found = np.full(eager.height, -1, np.int64)
    if spans.is_empty():
        return found
    ends = spans.select("thread", at="end_at", begin=pl.lit(None, pl.Int64), change=pl.lit(-1))
    marks = pl.concat(
        [spans.select("thread", "at", begin="at", change=pl.lit(1)), ends.drop_nulls("at")]
    ).sort("at")
    marks = marks.with_columns(
        open=pl.col("change").cum_sum().over("thread"),
        begin=pl.col("begin").forward_fill().over("thread"),
    )
    # The op that begins a span is not inside it, nor the one at its end.
    inside = (
        eager.select("dispatch", "thread", at=pl.col("at") - 1)
        .join_asof(marks, on="at", by="thread", check_sortedness=False)
        .filter(pl.col("open") > 0)
    )
    found[inside["dispatch"].to_numpy()] = inside["begin"].to_numpy()
    return found


def _initialized(sequence: EagerSequence) -> Integers:
    """The last question whether a variable has a value, of those that are answered together.

    python/eager/polymorphic_function, _evaluate_var_is_initialized: one `VarIsInitializedOp` for
    each variable, and a `Pack` of the answers. A checkpoint that is saved asks as well, and then
    reads the variable (training/saving/saveable_object_util.py).
    """
    asked = sequence.is_op("VarIsInitializedOp")
    pack = sequence.is_op("Pack") & sequence.before(asked)
    last = np.flatnonzero(pack) - 1
    first = np.maximum(sequence.last(~asked) + 1, sequence.first)[last]
    return sequence.spread(first, last + 2, sequence.at[last])


def _keras_batch(sequence: EagerSequence, dataset: Flags) -> Integers:
    """The batch that Keras' trainer took eagerly before the op: its step runs without a function.

    Keras 2, engine/training.py: each batch comes after a counter was read, and the step ends with
    the count of batches; the handler of the data (data_adapter.py) has been at work before.
    Keras 3, trainer.py of the TensorFlow backend: a step of fit and evaluate ends with an optional;
    predict takes batches of arrays, or of a dataset whose length was asked for.
    """
    counted = sequence.before(sequence.is_op("Identity")) & sequence.before(
        sequence.is_op("ReadVariableOp"), 2
    )
    batch = np.flatnonzero(sequence.is_op("IteratorGetNext"))
    end = sequence.next(dataset)[batch]
    handler = np.zeros(len(sequence), bool)
    handler[np.concatenate([sequence.chain(*chain) for chain in _HANDLER])] = True
    by_counter = counted[batch] & (sequence.last(handler)[batch] >= 0)
    count = sequence.last(sequence.is_op("AssignAddVariableOp"))[end - 1] + 1
    optional = sequence.is_op("OptionalFromValue")
    arrays = np.zeros(len(sequence), bool)
    arrays[sequence.chain("PrefetchDataset", "FlatMapDataset", "TensorDataset") + 2] = True
    source = sequence.last(sequence.is_op(_SOURCE))[batch]
    of_arrays = (source >= 0) & arrays[source]
    measured = sequence.before(sequence.is_op("DatasetCardinality"))
    made = sequence.is_op(r"AnonymousIterator(?:V\d)?") & measured
    ended = sequence.last(optional)[batch]
    again = (ended >= 0) & (sequence.last(made)[batch] > ended)
    called = sequence.after(sequence.is_op(CALL))[batch]
    by_optional = (end < sequence.end[batch]) & np.append(optional, False)[end]
    by_trainer = (by_optional | of_arrays | again) & ~counted[batch]
    end = np.where(by_counter, np.minimum(count, end), end)
    found = (by_counter | by_trainer) & ~called & (end > batch + 1)
    return sequence.spread(batch[found] + 1, end[found], sequence.at[batch[found]])


def _tape(sequence: EagerSequence, executions: Executions) -> Integers:
    """The start of the gradient that an op is for: c/eager/tape.h, ComputeGradient."""
    starts = executions.events.messages("tape_start").select("at", "thread")
    ends = executions.events.messages("tape_end").select("at", "thread")
    closed, _ = match_nested(starts, ends, nested=True)
    until = ends["at"].gather(pl.Series(closed).set(pl.Series(closed < 0), None))
    spans = starts.select("thread", begin="at").with_columns(until=until).drop_nulls()
    ops = pl.DataFrame(
        {
            "position": sequence.position,
            "at": sequence.at,
            "thread": sequence.thread,
            "fill": sequence.is_op("Fill"),
        }
    ).sort("at")
    inside = ops.join_asof(
        spans, left_on="at", right_on="begin", by="thread", check_sortedness=False
    ).filter(pl.col("at") < pl.col("until"))
    # The gradient of a target that is not a scalar begins with ones, made before the first record
    # (eager/backprop.py, _ones). A tape that is being traced runs no eager op.
    played = spans.join(inside.select("thread", "begin").unique(), on=["thread", "begin"])
    ones = (
        played.sort("begin")
        .join_asof(ops, left_on="begin", right_on="at", by="thread", check_sortedness=False)
        .filter("fill")
    )
    found = np.full(len(sequence), -1, np.int64)
    for part in (inside, ones):
        found[part["position"].to_numpy()] = part["begin"].to_numpy()
    return found


def _loop(sequence: EagerSequence) -> Integers:
    """The first condition of a loop that TensorFlow's Python code turns, for all of its turns.

    python/ops/while_loop.py with maximum_iterations, as map_fn, scan and foldl give it: each turn
    begins with a `LogicalAnd` of two conditions. They take their input apart first (`Unpack`).
    """
    condition = np.flatnonzero(sequence.is_op("LogicalAnd"))
    if len(condition) < 2:
        return np.full(len(sequence), -1, np.int64)
    gap = np.diff(condition)
    # Turns of one loop are equally long: the last condition that is so far from the one before.
    changes = np.flatnonzero(np.append(gap[1:] != gap[:-1], True))
    last = changes[np.searchsorted(changes, np.arange(len(gap)))] + 1
    apart = sequence.is_op("Unpack")
    less = sequence.before(sequence.is_op("Less"))
    begin = np.where(less, sequence.position - 1, sequence.position)[condition[:-1]]
    starts = sequence.before(apart)[begin] & (
        sequence.thread[condition[:-1]] == sequence.thread[condition[last]]
    )
    begin, end = begin[starts] - 1, condition[last[starts]] + 1
    end += np.append(sequence.is_op("Pack"), False)[end]
    return sequence.spread(begin, end, sequence.at[condition[:-1][starts]])
