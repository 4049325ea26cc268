"""What the attributes of a node may say: conditions that rows of `grammars/reasons.toml` name."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tflogscope.errors import TflogscopeError

if TYPE_CHECKING:
    import pyparsing as pp


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
# Of distinct strings only: a log of a million lines has a few thousand of them. pyparsing is
# imported when the first one is read; most commands read none.


class NodeDefinitionError(TflogscopeError):
    """A text is not the attributes of a node definition. `column` is 1-based."""

    def __init__(self, column: int, expected: str) -> None:
        super().__init__(f"column {column}: expected {expected}", "node definition")
        self.column = column
        self.expected = expected


def parse_attributes(text: str) -> dict[str, str]:
    """What is between the brackets: `T=DT_FLOAT, transpose_a=false` → name → value as printed.

    Raises NodeDefinitionError.
    """
    import pyparsing as pp

    try:
        return dict(list(_attributes().parse_string(text, parse_all=True)["attributes"]))
    except pp.ParseBaseException as error:
        raise NodeDefinitionError(error.loc + 1, str(error.parser_element)) from None
    except RecursionError:
        raise NodeDefinitionError(1, "fewer brackets in brackets") from None


@cache
def _attributes() -> pp.ParserElement:
    """Values hold quoted strings, brackets (lists, functions with attributes), tensors."""
    import pyparsing as pp

    string = pp.Regex(r'"(?:[^"\\]|\\.)*"')
    # Tensor values are printed raw: a `>` ends one only before `, name=`, a bracket or the end.
    tensor = pp.Regex(r"Tensor<(?:.*?)>(?=, [\w.]+=|, Tensor<|\]|\Z)")
    plain = pp.Regex(r'(?:(?!Tensor<)[^\[\]",])+')
    value = pp.Forward()
    inside = pp.ZeroOrMore(string | tensor | value | plain | ",")
    bracket = pp.Combine(pp.Literal("[") + inside + "]")
    value <<= bracket
    # A comma ends a value only where a name and an equals sign follow: `[?,3]`, `<a, b>`.
    comma = pp.Regex(r",(?! [\w.]+=)")
    whole = pp.Combine(pp.ZeroOrMore(string | tensor | bracket | plain | comma))
    name = pp.Regex(r"[\w.]+").set_name("an attribute name")
    attribute = pp.Group(name + pp.Suppress("=") + whole)
    attributes = pp.Opt(attribute + pp.ZeroOrMore(pp.Suppress(", ") + attribute))
    return pp.Group(attributes)("attributes").leave_whitespace().parse_with_tabs()
