"""Metrics among eager ops: what adds up values, gives results and begins anew.

A metric of Keras keeps sums in variables (`total`, `count`, …); Keras 2: src/metrics, Keras 3:
src/metrics with the variables of the TensorFlow backend.
"""

from __future__ import annotations

import numpy as np

from tflogscope.model.causes.eager_sequence import EagerSequence, Flags, Integers

READ = "ReadVariableOp"
ASSIGN = "AssignVariableOp"
_MOST_BETWEEN = 7  # ops between two sums of a metric; in practice up to five
# Keras 3, metrics/confusion_metrics.py, AUC.result: the area under the curve that was divided.
_CURVE: tuple[str, ...] = (
    *("DivNoNan", "StridedSlice", "StridedSlice", "AddV2", "RealDiv"),
    *("StridedSlice", "StridedSlice", "Sub", "Mul", "Sum"),
)
# What results are made with; other ops are not of a metric.
_ARITHMETIC = (
    "ReadVariableOp|Identity|DivNoNan|RealDiv|AddV2|Sub|Mul|Neg|Sqrt|Square|Pow|Sum|Mean|Max|Min"
    "|Maximum|Minimum|Abs|Log|Exp|Cast|Greater|GreaterEqual|Less|LessEqual|Equal|NotEqual|LogicalAnd"
    "|Select|SelectV2|Where|ArgMax|ArgMin|Shape|StridedSlice|GatherV2|Reshape|Squeeze|ExpandDims|Pack"
    "|ConcatV2|Range|Fill|ZerosLike|OnesLike|DiagPart|MatrixDiagPartV3|Prod"
)
# What a metric does before it adds up: the two ops before the sum that tell what it is, the sum,
# and the ops that may come before. Others are of the program (a layer ends with none of them).
# A sum of a scalar has a `Range` first: in place of its axes.
_LEADS = (
    # Accuracies: keras metrics_utils.py, sparse_categorical_matches; Keras 3 accuracy_metrics.py
    (
        ("Equal|InTopKV2", "Cast", "Sum|Range"),
        "Cast|Shape|ArgMax|Equal|Greater|Less|Bitcast|BitwiseAnd|LogicalAnd|SelectV2|Squeeze",
    ),
    # Errors of each row, of Keras' losses; a mean of the whole batch may be the program's own.
    (("SquaredDifference", "Mean", "Sum|Range"), "SquaredDifference"),
    (("Abs|Square", "Mean", "Sum"), "Sub|Abs|Square"),
    # True and false positives and negatives: metrics_utils.py, update_confusion_matrix_variables
    (
        ("LogicalAnd", "Cast", "Sum|Range"),
        "Shape|StridedSlice|Fill|SelectV2|Reshape|Cast|Mul|Pack|Tile|Greater|LogicalNot|LogicalAnd",
    ),
    # The same of evenly spaced thresholds: _update_confusion_matrix_variables_optimized
    (
        ("Cumsum|ReverseV2|Sum", "Sum", "Sum"),
        (
            "Shape|Fill|Minimum|Maximum|Mul|Sub|Ceil|Relu|Cast|Reshape|Range|ReverseV2|Cumsum|Sum"
            "|UnsortedSegmentSum|SelectV2|StridedSlice"
        ),
    ),
)


def metric_facts(sequence: EagerSequence, dataset: Flags) -> dict[str, Integers]:
    """Return `result`, `reset`, `update`: the line of the evidence for each position, -1: none.

    `dataset` says which ops are of tf.data.
    """
    result = _results(sequence, dataset)
    return {
        "result": result,
        "reset": _resets(sequence, result),
        "update": _updates(sequence),
    }


def _results(sequence: EagerSequence, dataset: Flags) -> Integers:
    """The division that a result comes from: Metric.result reads the sums and divides them.

    Between the first read and the end all belongs to the result. Where it ends: at an `Identity`
    (Keras 2, metrics_utils.result_wrapper), or where the trainer goes on (Keras 3).
    """
    read = sequence.is_op(READ)
    divided = sequence.is_op("DivNoNan")
    found = np.full(len(sequence), -1, np.int64)
    for chain in (
        (READ, READ, "DivNoNan"),
        (READ, READ, "DivNoNan", "Identity"),
        (READ, "Identity", READ, "Identity", "DivNoNan"),
        (READ, "Identity", READ, "Identity", "DivNoNan", "Identity"),
        (READ, READ, "DivNoNan", "Sqrt"),
        (READ, READ, "AddV2", READ, "DivNoNan"),
        (READ, READ, "AddV2", READ, "DivNoNan", "StridedSlice"),
        _CURVE,
    ):
        begin = sequence.chain(*chain)
        length = len(chain)
        by = begin + chain.index("DivNoNan")
        found = np.maximum(found, sequence.spread(begin, begin + length, sequence.at[by]))
    if not len(sequence):
        return found
    handed_on = sequence.is_op("Identity")
    value_read = handed_on & sequence.before(read)
    stops = dataset | value_read | ~sequence.is_op(_ARITHMETIC)
    ends = handed_on & ~value_read
    # Pieces: from one stop or end to the next.
    first = sequence.begins | stops | sequence.before(stops | ends)
    piece = np.cumsum(first) - 1
    begin = np.flatnonzero(first)
    end = np.append(begin[1:], len(sequence))
    reads = read[begin] & sequence.after(read)[begin]
    by = sequence.last(divided)[end - 1]
    after_epoch = (
        sequence.before(sequence.is_op("MakeIterator"))[begin]
        & sequence.before(sequence.is_op("OptionalGetValue"), 3)[begin]
    )
    whole = reads & (ends[end - 1] | after_epoch) & (by >= begin)
    evidence: Integers = np.where(whole, sequence.at[by], -1)[piece]
    # Reads at the end are of what comes next.
    evidence[sequence.position > sequence.last(~read)[end - 1][piece]] = -1
    both: Integers = np.maximum(found, evidence)
    return both


def _resets(sequence: EagerSequence, result: Integers) -> Integers:
    """The iterator or the result beside values that are set one after the other.

    That is how an epoch, an evaluation or a round begins: Metric.reset_state.
    """
    assign = sequence.is_op(ASSIGN) & ~sequence.before(sequence.is_op("VarHandleOp"))
    # Sums that are no scalars are filled. A strategy divides or casts what its replicas get, and
    # reads the result (distribute/values_util.py, on_read_assign_cross_replica).
    shared = assign & sequence.before(sequence.is_op("Cast|RealDiv"))
    assign |= sequence.is_op("Fill|Cast|RealDiv") & sequence.after(assign)
    for distance, op in enumerate((READ, "Identity", "Identity"), start=1):
        assign |= sequence.is_op(op) & sequence.before(shared, distance)
    first = np.flatnonzero(assign & ~sequence.before(assign))
    final = np.flatnonzero(assign & ~sequence.after(assign))
    near = sequence.is_op(r"AnonymousIterator(?:V\d)?|MakeIterator") | (result >= 0)
    by = np.where(sequence.after(near)[final], final + 1, -1)
    by = np.where(sequence.before(near)[first], first - 1, by)
    many = (final > first) & (by >= 0)
    return sequence.spread(first[many], final[many] + 1, sequence.at[by[many]])


def _updates(sequence: EagerSequence) -> Integers:
    """The first sum that an update_state outside any function adds to its variable.

    Reduce.update_state and the like: a sum is added to `total`, then a number to `count`.
    Keras 2 adds in the variable (`AssignAddVariableOp`), Keras 3 before (`Read, AddV2, Assign`).
    """
    add = sequence.is_op("AssignAddVariableOp")
    steps = (sequence.is_op("AddV2"), sequence.is_op(READ))
    read_add = sequence.is_op(ASSIGN) & sequence.before(steps[0]) & sequence.before(steps[1], 2)
    summed = sequence.is_op("Sum|Cumsum|UnsortedSegmentSum")
    of_sum = (add & sequence.before(summed)) | (read_add & sequence.before(summed, 3))
    added = np.flatnonzero(add | read_add)
    if len(added) < 2:
        return np.full(len(sequence), -1, np.int64)
    step = np.diff(added)
    same = sequence.thread[added[1:]] == sequence.thread[added[:-1]]
    either = of_sum[added[:-1]] | of_sum[added[1:]]
    # Further sums come with one op between at most: what is left of a total is taken from it.
    further = same & (step <= np.where(read_add[added[1:]], 4, 2))
    run = np.cumsum(np.append(True, ~further))
    summed_in = np.isin(run, run[of_sum[added]])
    paired = same & ((either & (step <= _MOST_BETWEEN + 1)) | (further & summed_in[1:]))
    one, other = added[:-1][paired], added[1:][paired]
    # What leads to the first sum of the two.
    begin = np.where(of_sum[one], one - np.where(read_add[one], 3, 1), one + 1)
    begin -= sequence.is_op("Range")[np.maximum(begin - 1, 0)] & of_sum[one] & (begin > 0)
    begin = np.where(of_sum[one], _lead(sequence)[begin], begin)
    return sequence.spread(begin, other + 1, sequence.at[one])


def _lead(sequence: EagerSequence) -> Integers:
    """For each position, where what leads to a sum there begins; the position: nothing does."""
    found = sequence.position.copy()
    for told_by, others in _LEADS:
        place = sequence.chain(*told_by) + 2
        led = f"{others}|{told_by[1]}"
        begin = sequence.last(~sequence.is_op(led))[place - 1] + 1
        found[place] = np.minimum(found[place], np.maximum(begin, sequence.first[place]))
    return found
