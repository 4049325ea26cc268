"""Reads node definitions, `{{node NAME}} = OP[ATTRIBUTES](INPUTS)`, with pyparsing.

For distinct strings only: a log of a million lines has a few thousand of them. pyparsing is
imported when the first one is read; most commands read none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tflogscope.errors import TflogscopeError

if TYPE_CHECKING:
    import pyparsing as pp


@dataclass(frozen=True)
class NodeDefinition:
    """A node as printed. Attribute values are as printed, strings with their quotes."""

    node: str
    op: str
    attributes: dict[str, str]
    inputs: list[str]
    #: The function the node belongs to, where the text says so.
    function_node: str | None = None


class NodeDefinitionError(TflogscopeError):
    """A text is not a node definition. `column` is 1-based."""

    def __init__(self, column: int, expected: str) -> None:
        super().__init__(f"column {column}: expected {expected}", "node definition")
        self.column = column
        self.expected = expected


def parse_node_definition(text: str) -> NodeDefinition:
    """Reads one whole node definition. Raises NodeDefinitionError."""
    found = _parsed(_parser(), text)
    return NodeDefinition(
        node=found["node"],
        op=found["op"],
        attributes=dict(list(found["attributes"])),
        inputs=list(found["inputs"]),
        function_node=found.as_dict().get("function_node"),
    )


def parse_attributes(text: str) -> dict[str, str]:
    """What is between the brackets: `T=DT_FLOAT, transpose_a=false` → name → value as printed.

    Raises NodeDefinitionError.
    """
    return dict(list(_parsed(_attributes(), text)["attributes"]))


def _parsed(parser: pp.ParserElement, text: str) -> pp.ParseResults:
    import pyparsing as pp

    try:
        return parser.parse_string(text, parse_all=True)
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


@cache
def _parser() -> pp.ParserElement:
    import pyparsing as pp

    name = pp.Regex(r"[^ {}]+").set_name("a node name")
    function = pp.Suppress("{{function_node ") + name("function_node") + pp.Suppress("}} ")
    node = pp.Suppress("{{node ") + name("node") + pp.Suppress("}}")
    op = pp.Regex(r"[^ \[\]]+").set_name("an op")
    input_ = pp.Regex(r"[^ ,()]+").set_name("an input")
    inputs = pp.Opt(input_ + pp.ZeroOrMore(pp.Suppress(", ") + input_))
    definition = (
        pp.Opt(function)
        + node
        + pp.Suppress(" = ")
        + op("op")
        + pp.Suppress("[")
        + _attributes()
        + pp.Suppress("](")
        + pp.Group(inputs)("inputs")
        + pp.Suppress(")")
    )
    return definition.leave_whitespace().parse_with_tabs()
