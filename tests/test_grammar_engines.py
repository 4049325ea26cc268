"""What the two engines make of templates, and how the exact one says why a text does not fit."""

from __future__ import annotations

import polars as pl
import pytest

from tflogscope.errors import GrammarError
from tflogscope.grammar import exact, fast
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.model import FileGrammar, Message
from tflogscope.grammar.template import parse_template
from tflogscope.model.reasons.conditions import parse_attributes

GRAMMAR = load_grammar()
PROCESS = GRAMMAR.message("process_node")
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def message(template: str, id_: str = "m") -> Message:
    return Message(id_, "own.cc", 1, template, "A message.")


def both(template: str, text: str) -> dict[str, object]:
    """The fields of `text` in both engines, which have to agree."""
    one = message(template)
    fields = exact.parse(one, text)
    assert fast.extract(pl.Series([text]), one).row(0, named=True) == fields
    return fields


@pytest.mark.parametrize(
    ("template", "text", "fields"),
    [
        ("a ${n:uint}", "a 12", {"n": 12}),
        ("a ${n:uint}", f"a {2**64}", {"n": None}),
        ("a ${n:int}b", "a -12b", {"n": -12}),
        ("${x:float}ms", "0.0161133ms", {"x": 0.0161133}),
        ("${x:float}ms", "1.5e+06ms", {"x": 1.5e6}),
        ("on: ${b:bool}", "on: true", {"b": True}),
        ("on: ${b:bool}", "on: 0", {"b": False}),
        ("${w:(local|remote)} op", "remote op", {"w": "remote"}),
        ("op$[?x: y$]", "op", {"x": False}),
        ("op$[?x: y$]", "op y", {"x": True}),
        ("op$[ on '${d:text}'$].", "op.", {"d": None}),
        ("op$[ on '${d:text}'$].", "op on ''.", {"d": ""}),
        ("$(a ${x:uint}$|b ${y:word}$)!", "b c!", {"x": None, "y": "c"}),
        ("a$_b ${r:rest}", "a   b ", {"r": ""}),
        ("${l:longest}](${i:inputs})", "a](b](c)", {"l": "a](b", "i": "c"}),
        ("${q:quoted} ${r:rest}", '"a\\" b" c', {"q": 'a\\" b', "r": "c"}),
        ("shape { ${s:dims}}", "shape { dim { size: 2 } dim { size: 3 } }",
         {"s": "dim { size: 2 } dim { size: 3 } "}),
        ("shape { ${s:dims}}", "shape { }", {"s": ""}),
        ("$$${t:text}|", "$a\tb|", {"t": "a\tb"}),
    ],
)  # fmt: skip
def test_both_engines_give_the_same_typed_fields(
    template: str, text: str, fields: dict[str, object]
) -> None:
    assert both(template, text) == fields


@pytest.mark.parametrize(
    "template", ["a $[b", "a $]", "a ${n:uint", "$(a$|b", "$x", "${a:text}${b:uint}"]
)
def test_templates_that_are_not_well_formed_are_refused(template: str) -> None:
    with pytest.raises(GrammarError):
        parse_template(template, "")


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        "T=DT_FLOAT",
        'template="x ](\\" device: ) [{{node", placeholder="](", summarize=3',
        'f=g[T=[DT_INT32], _class=["loc:@a"]], output_shapes=[[?,3], <unknown>]',
        'dtype=DT_STRING, value=Tensor<type: string shape: [] values: a](b), > " c>',
        'value=Tensor<type: int32 shape: [2] values: 1 2>, _device="/job:x"',
    ],
)
@pytest.mark.parametrize("dead", ["", " is dead"])
def test_attributes_may_hold_quotes_brackets_and_the_words_of_the_message(
    attributes: str, dead: str
) -> None:
    definition = f"{{{{node a/b}}}} = Op[{attributes}](a, b:1, ^c)"
    text = f"Process node: 3 step -55 {definition}{dead} device: {DEVICE}"
    fields = exact.parse(PROCESS, text)
    assert fast.extract(pl.Series([text]), PROCESS).row(0, named=True) == fields
    assert fields["attributes"] == attributes
    assert fields["inputs"] == "a, b:1, ^c"
    assert fields["dead"] is bool(dead)
    assert fields["device"] == DEVICE


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("Process nodes: 3", 1, "'Process node: '"),
        ("Process node: x step", 15, "id (uint)"),
        ("Process node: 3 step -5 {{node a b}} = NoOp[]()", 32, "node (name) and then '}} = '"),
        ("Process node: 3 step -5 {node a}} = NoOp[]()", 24, "' {{node '"),
        ("Process node: 3 step -5 {{node a}} = NoOp[]() devic: /x", 46, "' is dead'"),
        (f"Process node: 3 step -5 {{{{node a}}}} = NoOp[]() device: {DEVICE}onednn_verbose,exec",
         None, "the end of the line"),
    ],
)  # fmt: skip
def test_a_mismatch_says_where_what_was_expected_and_what_was_found(
    text: str, column: int | None, expected: str
) -> None:
    with pytest.raises(exact.GrammarMismatch) as error:
        exact.parse(PROCESS, text)
    assert expected in error.value.expected
    if column is None:
        column = text.index(",exec") + 1
        assert error.value.found.startswith("',exec")
    assert error.value.column == column
    assert f"column {column}" in str(error.value)


def test_a_glued_tail_does_not_become_part_of_a_device() -> None:
    text = f"Process node: 3 step -5 {{{{node a}}}} = NoOp[]() device: {DEVICE}onednn_verbose,exec"
    assert fast.match_messages(pl.Series([text]), GRAMMAR.files["executor.cc"]).to_list() == [None]


def test_the_first_message_that_fits_claims_a_text() -> None:
    own = FileGrammar("own.cc", "own.cc", (message("a b", "one"), message("a ${t:rest}", "two")))
    texts = pl.Series(["a b", "a c", None, "b", "a b"])
    assert fast.match_messages(texts, own).to_list() == ["one", "two", None, None, "one"]


def test_matching_keeps_the_length_where_nothing_matches() -> None:
    own = FileGrammar("own.cc", "own.cc", (message("a"),))
    assert fast.match_messages(pl.Series(["b", "c"]), own).to_list() == [None, None]
    empty = fast.match_messages(pl.Series([], dtype=pl.String), own)
    assert empty.len() == 0
    assert empty.dtype == pl.String()


def test_texts_that_do_not_match_give_only_nulls() -> None:
    one = message("n ${n:uint}$[?x: y$] ${b:bool} ${t:rest}")
    assert fast.extract(pl.Series(["z"]), one).row(0) == (None, None, None, None)
    assert fast.extract(pl.Series(["n 1 0 "]), one).row(0) == (1, False, False, "")
    assert fast.extract(pl.Series(["z", "y"]), message("z")).height == 2


def test_the_head_is_the_literal_text_in_front() -> None:
    assert PROCESS.head == "Process node: "
    assert message("a$$ b$$").head == "a$ b$"
    assert message("$$${a:word} b").head == "$"
    assert message("a ${definition}").head == "a {{node "
    assert (message("${a:word} b").head, message("").head) == ("", "")


def test_attributes_are_read_whole() -> None:
    found = parse_attributes(
        'T=DT_FLOAT, fused_ops=["BiasAdd", "Relu"], strides=[1, 2, 2, 1], text="a, b=[c]", '
        'then_branch=t_1[x="](", y=2], value=Tensor<type: string shape: [] values: a>, b]>, '
        '_device="/job:x"'
    )
    assert found == {
        "T": "DT_FLOAT",
        "fused_ops": '["BiasAdd", "Relu"]',
        "strides": "[1, 2, 2, 1]",
        "text": '"a, b=[c]"',
        "then_branch": 't_1[x="](", y=2]',
        "value": "Tensor<type: string shape: [] values: a>, b]>",
        "_device": '"/job:x"',
    }
    assert parse_attributes("") == {}


@pytest.mark.parametrize("text", ["x", "T=[", 'T="](b', "T=DT_FLOAT](b)", "T=Tensor<a"])
def test_nothing_is_known_of_attributes_that_are_cut_off(text: str) -> None:
    assert parse_attributes(text) == {}
    assert parse_attributes(f"{text}, N=1") == {}
