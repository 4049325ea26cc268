"""What the attributes of a node may say: conditions that rows of `grammars/reasons.toml` name."""

from __future__ import annotations

import re
from itertools import pairwise

Attributes = dict[str, str]


def pads_explicitly(attributes: Attributes) -> bool:
    """The padding is given in numbers, not as SAME or VALID."""
    return attributes.get("padding") == '"EXPLICIT"'


def turns_first_input(attributes: Attributes) -> bool:
    """The first matrix is to be transposed, or conjugated as well."""
    return "true" in (attributes.get("transpose_a"), attributes.get("adjoint_a"))


def pools_over_batch_or_channels(attributes: Attributes) -> bool:
    """The window or the step is larger than 1 in the first dimension or in that of the channels."""
    layout = attributes.get("data_format", "").strip('"')
    places = {"NHWC": (0, 3), "NCHW": (0, 1), "NDHWC": (0, 4), "NCDHW": (0, 1)}.get(layout, ())
    for name in ("ksize", "strides"):
        sizes = attributes.get(name, "").strip("[]").split(", ")
        if any(place < len(sizes) and sizes[place] != "1" for place in places):
            return True
    return False


def is_5d(attributes: Attributes) -> bool:
    """The tensor has three dimensions of space."""
    return attributes.get("data_format") in ('"NDHWC"', '"NCDHW"')


def must_compile(attributes: Attributes) -> bool:
    """The function called has jit_compile=True."""
    return attributes.get("_XlaMustCompile") == "true"


def counts(attributes: Attributes) -> bool:
    """The numbers are integers, or of another type that no kernel of oneDNN takes."""
    return attributes.get("T") not in (None, "DT_DOUBLE", "DT_HALF", "DT_FLOAT", "DT_BFLOAT16")


def is_double(attributes: Attributes) -> bool:
    """The numbers are float64."""
    return attributes.get("T") == "DT_DOUBLE"


def is_bfloat16(attributes: Attributes) -> bool:
    """The numbers are bfloat16."""
    return attributes.get("T") == "DT_BFLOAT16"


def is_half(attributes: Attributes) -> bool:
    """The numbers are float16."""
    return attributes.get("T") == "DT_HALF"


def has_other_filter(attributes: Attributes) -> bool:
    """The weights of a quantized op are not of type qint8."""
    return attributes.get("Tfilter", attributes.get("T2", "DT_QINT8")) != "DT_QINT8"


def aligns_corners(attributes: Attributes) -> bool:
    """Pixels are not compared by their middles."""
    return (attributes.get("align_corners"), attributes.get("half_pixel_centers")) != (
        "false",
        "true",
    )


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
