"""Reads the attributes of a node, `{{node NAME}} = OP[ATTRIBUTES](INPUTS)`, with pyparsing.

For distinct strings only: a log of a million lines has a few thousand of them. pyparsing is
imported when the first one is read; most commands read none.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tflogscope.errors import TflogscopeError

if TYPE_CHECKING:
    import pyparsing as pp


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
