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


def pair_in_order(starts: Keys, ends: Keys, start_at: Positions, end_at: Positions) -> Positions:
    """Return for each start the index of its end, -1: none. Rows must be in the order of the log.

    Start and end have equal keys. A node of a loop runs many times in one step, so the first
    start of a key belongs to its first end, the second to its second. Where the numbers differ a
    record is lost: then an end belongs to the record of its key just before it.
    """
    result = np.full(len(starts), -1, np.int64)
    start_order = np.argsort(starts, kind="stable")
    end_order = np.argsort(ends, kind="stable")
    start_keys, start_counts = _runs(starts[start_order])
    end_keys, end_counts = _runs(ends[end_order])
    place = np.searchsorted(end_keys, start_keys)
    place = np.minimum(place, max(len(end_keys) - 1, 0))
    if len(end_keys):
        same = (end_keys[place] == start_keys) & (end_counts[place] == start_counts)
        even_starts = start_order[np.repeat(same, start_counts)]
        end_same = np.zeros(len(end_keys), bool)
        end_same[place[same]] = True
        even_ends = end_order[np.repeat(end_same, end_counts)]
        forward = end_at[even_ends] > start_at[even_starts]
        # One pair the wrong way round says that a start and an end are lost.
        broken = np.isin(starts[even_starts], starts[even_starts[~forward]])
        result[even_starts[~broken]] = even_ends[~broken]
        odd_starts = start_order[np.repeat(~same, start_counts)]
        odd_ends = end_order[np.repeat(~end_same, end_counts)]
        odd_starts = np.concatenate([odd_starts, even_starts[broken]])
        odd_ends = np.concatenate([odd_ends, even_ends[broken]])
        odd = _neighbours(starts, ends, start_at, end_at, odd_starts, odd_ends)
        result[odd[:, 0]] = odd[:, 1]
    return result


def _runs(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    """Return the distinct keys of a sorted column and how often each is in it."""
    if not len(keys):
        return keys, np.zeros(0, np.int64)
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.diff(np.append(first, len(keys)))


def _neighbours(  # noqa: PLR0917 - three columns of starts, three of ends
    starts: Keys,
    ends: Keys,
    start_at: Positions,
    end_at: Positions,
    odd_starts: Positions,
    odd_ends: Positions,
) -> Positions:
    """Return pairs (start, end) of equal keys with nothing of their key in between."""
    if not len(odd_starts) or not len(odd_ends):
        return np.zeros((0, 2), np.int64)
    key = np.concatenate([starts[odd_starts], ends[odd_ends]])
    at = np.concatenate([start_at[odd_starts], end_at[odd_ends]])
    index = np.concatenate([odd_starts, odd_ends])
    is_end = np.arange(len(key)) >= len(odd_starts)
    order = np.lexsort((at, key))
    key, index, is_end = key[order], index[order], is_end[order]
    pair = np.flatnonzero(~is_end[:-1] & is_end[1:] & (key[:-1] == key[1:]))
    return np.stack([index[pair], index[pair + 1]], axis=1)


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
    rows = np.flatnonzero(~frame["whole"].to_numpy())
    if len(rows):
        cut = texts[rows].str.extract_groups(_CUT).struct.unnest()
        frame = frame.with_columns(frame[name].scatter(rows, cut[name]) for name in cut.columns)
    return frame
