"""What the attributes of a node say, and whether that is what a rule asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

Attributes = dict[str, str]
Values = Mapping[str, tuple[str, ...]]
"""Values of attributes, by their names."""


def one_has(attributes: Attributes, wanted: Values, others: Values) -> bool:
    """Whether one attribute has a value that is wanted, or one that is there has another value."""
    return any(attributes.get(name) in values for name, values in wanted.items()) or any(
        attributes.get(name, values[0]) not in values for name, values in others.items()
    )


def pools_over_batch_or_channels(attributes: Attributes) -> bool:
    """The window or the step is larger than 1 in the first dimension or in that of the channels."""
    layout = attributes.get("data_format", "").strip('"')
    places = {"NHWC": (0, 3), "NCHW": (0, 1), "NDHWC": (0, 4), "NCDHW": (0, 1)}.get(layout, ())
    for name in ("ksize", "strides"):
        sizes = attributes.get(name, "").strip("[]").split(", ")
        if any(place < len(sizes) and sizes[place] != "1" for place in places):
            return True
    return False


# ---- reading attributes: `{{node NAME}} = OP[ATTRIBUTES](INPUTS)` --------------------------------
# Of distinct strings only: a log of a million lines has a few thousand of them.

_TENSOR = r"Tensor<.*?>(?=, [\w.]+=|, Tensor<|\]|\Z)"  # its values are printed raw
_MARK = re.compile(
    rf'"(?:[^"\\]|\\.)*"|{_TENSOR}|(?P<cut>"|Tensor<)|[\[\]]|, (?=[\w.]+=)', re.DOTALL
)


def parse_attributes(text: str) -> Attributes:
    """What is between the brackets: `T=DT_FLOAT, transpose_a=false` → name → value as printed.

    A value may hold quoted strings, brackets (lists, functions with attributes), tensors. Nothing
    is known if the text is cut off.
    """
    edges, depth = [-2], 0
    for mark in _MARK.finditer(text):
        depth += (mark[0] == "[") - (mark[0] == "]")
        if mark["cut"] or depth < 0:
            return {}
        if mark[0] == ", " and not depth:
            edges.append(mark.start())
    parts = [text[begin + 2 : end] for begin, end in pairwise([*edges, len(text)])]
    complete = not depth and all("=" in part for part in parts)
    return dict(part.partition("=")[::2] for part in parts) if complete else {}
