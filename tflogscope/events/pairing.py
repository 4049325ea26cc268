"""Records of nodes: starts and ends that are not simply a start and then its end; definitions.

The scanner pairs the simple ones as they come (`pair` in native/scanner.c). The others are paired
here when the log is known to its end: a node of a loop may run several times at once, and records
may be lost.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

Positions = NDArray[np.int64]
Keys = NDArray[np.uint64]


def numbered(keys: NDArray[np.void]) -> Keys:
    """A number for each of the scanner's keys (`a`, `b`); equal keys have the same."""
    a, b = keys["a"], keys["b"]
    order = np.lexsort((b, a))
    differs = (np.diff(a[order]) != 0) | (np.diff(b[order]) != 0)
    numbers = np.zeros(len(keys), np.uint64)
    numbers[order[1:]] = np.cumsum(differs)
    return numbers


def pair_in_order(keys: Keys, is_start: NDArray[np.bool_]) -> tuple[Positions, Positions]:
    """The starts that have an end, and their ends: numbers of both. Records are in order.

    Of several ends that `matched` gives to a start the first one counts.
    """
    start, end = np.unique(matched(keys, is_start), return_index=True)
    return start[start >= 0], end[start >= 0]


def matched(keys: NDArray[np.integer], is_first: NDArray[np.bool_]) -> Positions:
    """Return for each second record the number of the first one it follows from, -1: none.

    Records are in the order of the log; second ones are those that are not first. Where a key has
    as many of both, the n-th belongs to the n-th (several threads at once); else a record belongs
    to the last one before it with its key.
    """
    order = np.argsort(keys, kind="stable")
    key, first = keys[order], is_first[order]
    group = np.cumsum(np.append(True, key[1:] != key[:-1])[: len(key)]) - 1
    ones, twos = (np.bincount(group[which], minlength=len(key)) for which in (first, ~first))
    mine = group[~first]
    begin = (np.cumsum(ones) - ones)[mine]  # where the first records of the key begin
    last = np.cumsum(first)[~first] - 1  # the one before
    same = begin + np.arange(len(mine)) - (np.cumsum(twos) - twos)[mine]  # the one with its number
    # One pair the wrong way round in time says that a record is lost: no rank of that key is sure.
    sure = (ones[mine] == twos[mine]) & (same <= last)
    sure = np.bincount(mine, ~sure)[mine] == 0
    of = np.where(last < begin, -1, np.where(sure, same, last))
    number = np.where(is_first, np.cumsum(is_first), np.cumsum(~is_first)) - 1
    partner = np.full(len(mine), -1)
    partner[number[order[~first]]] = np.append(number[order[first]], -1)[of]
    return partner


# ---- definitions of nodes: `{{node N}} = Op[attributes](inputs) device: D` -----------------------
# A step prints the same definitions again and again; only the distinct ones are read
# (core/framework/node_def_util.cc, SummarizeNodeDef).

# The node's name ends at the first `}} = `; the inputs begin at the last `](` that the end of the
# line allows. A device ends in `device:TYPE:NUMBER` (framework/device_name_utils).
DEVICE = r"(?:/[a-z]+:[^/\s]+)*/device:[A-Za-z_]+:\d+"
_NODE = (
    r"^\{\{node (?P<node>.*?)\}\} = (?P<op>[^\[\](){}]*)\[(?P<attributes>.*)\]\((?P<inputs>.*)\)"
)
_WHOLE = _NODE + rf"(?P<dead> is dead:?)? +device: (?P<device>{DEVICE})$"
# What is left of a definition that was cut short: a name ends with what is behind names, or it is
# half of one.
_CUT = r"^\{\{node (?P<node>[^{}]*)\}\}(?: = (?P<op>[^\[\](){}]*)\[(?P<attributes>.*))?"
_COLUMNS = ("node", "op", "attributes", "inputs", "dead", "device")


def read_definitions(texts: pl.Series) -> pl.DataFrame:
    """One row per text: node, op, attributes, inputs (strings), dead (bool), device, whole.

    Null: cut off.
    """
    frame = texts.str.extract_groups(_WHOLE).struct.unnest()
    whole = pl.col("device").is_not_null()
    frame = frame.select(*_COLUMNS[:4], pl.col("dead").is_not_null(), "device", whole=whole)
    numbers = np.flatnonzero(~frame["whole"].to_numpy())
    if len(numbers):
        cut = texts[numbers].str.extract_groups(_CUT).struct.unnest()
        frame = frame.with_columns(frame[name].scatter(numbers, cut[name]) for name in cut.columns)
    return frame
