"""Node definitions as the executor prints them: `{{node N}} = Op[attributes](inputs) device: D`.

A step prints the same definitions again and again; only the distinct ones are read, by the grammar
(core/framework/node_def_util.cc, SummarizeNodeDef).
"""

from __future__ import annotations

import numpy as np
import polars as pl

# The node's name ends at the first `}} = `; the inputs begin at the last `](` that the end of the
# line allows. A device ends in `device:TYPE:NUMBER` (framework/device_name_utils).
DEVICE = r"(?:/[a-z]+:[^/\s]+)*/device:[A-Za-z_]+:\d+"
_NODE = (
    r"^\{\{node (?P<node>.*?)\}\} = (?P<op>[^\[\](){}]*)\[(?P<attributes>.*)\]\((?P<inputs>.*)\)"
)
_WHOLE = _NODE + rf"(?P<dead> is dead:?)? +device: (?P<device>{DEVICE})$"
# What is left of a definition that was cut short, as far as it goes.
_CUT = r"^\{\{node (?P<node>[^{}]*)(?:\}\} = (?P<op>[^\[\](){}]*)(?:\[(?P<attributes>.*))?)?"
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
