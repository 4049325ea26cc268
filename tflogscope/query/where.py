"""The filter language of `--where`: a condition on the columns of one table.

    op == "MatMul" and mode == eager
    duration_us > 1ms and not (function ~ "train" or kind in (plumbing, folding))
    cause is null

A comparison with null is false, so `not` and `!=` hold for null as well. Words need no quotes where
they are no keyword.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NoReturn

import polars as pl
import pyparsing as pp

from tflogscope.errors import QueryError, did_you_mean

_UNITS = {"us": 1, "µs": 1, "ms": 1_000, "s": 1_000_000}
_OPERATORS = ("==", "=", "!=", "<=", ">=", "<", ">", "~", "contains")
_KEYWORDS = ("and", "or", "not", "in", "is", "null", "true", "false", "contains")
_LISTED = 12  # columns named in an error


def where(frame: pl.DataFrame, condition: str) -> pl.DataFrame:
    """The rows of `frame` for which `condition` holds, in their order.

    Raises:
        QueryError: the condition can't be understood, or doesn't fit the columns; with the place.
    """
    try:
        parsed = _language().parse_string(condition, parse_all=True)[0]
        expression = parsed.expression(condition, frame.schema)
    except pp.ParseBaseException as error:
        raise QueryError(_reason(error), condition, error.loc, _SYNTAX) from error
    except RecursionError as error:
        raise QueryError("this is nested too deeply", condition, 0, _SYNTAX) from error
    try:
        return frame.filter(expression)
    except pl.exceptions.ComputeError as error:  # a pattern that is none
        said = str(error).split("\n\n", maxsplit=1)[0]  # polars' own words follow
        reason = said.strip().splitlines()[-1].removeprefix("regex ").removeprefix("error: ")
        place = condition.find("~") + 1
        raise QueryError(f"this is not a regular expression: {reason}", condition, place) from error


_SYNTAX = "Write COLUMN OPERATOR VALUE, joined by and, or, not: --where 'op == MatMul and line > 9'"


def _reason(error: pp.ParseBaseException) -> str:
    rest = error.pstr[error.loc :].strip()
    return f"can't go on from {rest.split()[0]!r}" if rest else "the condition is not complete"


class _Node:
    """A part of the condition: where it is, and what makes an expression of it."""

    def __init__(
        self, place: int, make: Callable[[str, Mapping[str, pl.DataType]], pl.Expr]
    ) -> None:
        self.place = place
        self.make = make

    def expression(self, text: str, schema: Mapping[str, pl.DataType]) -> pl.Expr:
        """The polars expression, checked against the columns. Raises QueryError."""
        return self.make(text, schema)


@cache
def _language() -> pp.ParserElement:
    """The grammar. pyparsing is set up once, and only if a condition is given."""
    keyword = pp.one_of(_KEYWORDS, as_keyword=True, caseless=True)
    word = ~keyword + pp.Regex(r"[A-Za-z_][\w.:/-]*")
    column = (~keyword + pp.Regex(r"[A-Za-z_]\w*")).set_name("a column")
    quoted = pp.QuotedString('"', esc_char="\\") | pp.QuotedString("'", esc_char="\\")
    number = pp.Regex(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?P<unit>us|µs|ms|s)?(?![\w.:-])")
    number.set_parse_action(_number)
    truth = pp.one_of("true false", as_keyword=True, caseless=True)
    truth.set_parse_action(lambda tokens: str(tokens[0]).lower() == "true")
    date = pp.Regex(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")
    value = (truth | quoted | date | number | word).set_name("a value")
    operator = pp.one_of(_OPERATORS)
    null = pp.CaselessKeyword("null")
    place = pp.Empty().set_parse_action(lambda _text, at, _tokens: at)

    compared = (place + column + operator + place + value).set_parse_action(_comparison)
    values = pp.Suppress("(") + pp.Group(pp.DelimitedList(value)) + pp.Suppress(")")
    inside = place + column + pp.Suppress(pp.CaselessKeyword("in")) + place + values
    inside.set_parse_action(_membership)
    nulls = (
        place
        + column
        + pp.Suppress(pp.CaselessKeyword("is"))
        + pp.Optional(pp.CaselessKeyword("not"))
        + pp.Suppress(null)
    ).set_parse_action(_nullness)
    flag = (place + column).set_parse_action(_flag)
    condition: pp.ParserElement = pp.infix_notation(  # type: ignore[no-untyped-call]  # untyped there
        nulls | inside | compared | flag,
        [
            (pp.CaselessKeyword("not"), 1, pp.OpAssoc.RIGHT, _negation),
            (pp.CaselessKeyword("and"), 2, pp.OpAssoc.LEFT, _joined(pl.all_horizontal)),
            (pp.CaselessKeyword("or"), 2, pp.OpAssoc.LEFT, _joined(pl.any_horizontal)),
        ],
    )
    return condition.parse_with_tabs()  # places count characters of the text as it is


# ---- parts of the language -----------------------------------------------------------------------


def _number(tokens: pp.ParseResults) -> float | int:
    text = str(tokens[0])
    unit = tokens.as_dict().get("unit")
    figure = float(text.removesuffix(unit)) if unit else float(text)
    figure *= _UNITS[unit] if unit else 1
    # No column holds more than 64 bits, and polars takes no integers that do.
    return int(figure) if figure.is_integer() and abs(figure) < 2**63 else figure


def _comparison(tokens: pp.ParseResults) -> _Node:
    place, name, operator, value_place, value = tokens

    def make(text: str, schema: Mapping[str, pl.DataType]) -> pl.Expr:
        dtype = _dtype(text, place, name, schema)
        column = pl.col(name)
        if operator in {"~", "contains"}:
            if dtype != pl.String:
                _fail(f"{name} is not text, {operator} is for text", text, value_place)
            found = column.str.contains(str(value), literal=operator == "contains")
            return found.fill_null(value=False)
        wanted = _fitting(text, value_place, name, dtype, value)
        if operator == "!=":
            return column.ne_missing(pl.lit(wanted))
        tests: dict[str, Callable[[pl.Expr, Any], pl.Expr]] = {
            "==": pl.Expr.eq,
            "=": pl.Expr.eq,
            "<": pl.Expr.lt,
            "<=": pl.Expr.le,
            ">": pl.Expr.gt,
            ">=": pl.Expr.ge,
        }
        return tests[operator](column, pl.lit(wanted)).fill_null(value=False)

    return _Node(place, make)


def _membership(tokens: pp.ParseResults) -> _Node:
    place, name, value_place, values = tokens

    def make(text: str, schema: Mapping[str, pl.DataType]) -> pl.Expr:
        dtype = _dtype(text, place, name, schema)
        wanted = [_fitting(text, value_place, name, dtype, value) for value in values]
        return pl.any_horizontal(pl.col(name).eq(pl.lit(one)) for one in wanted).fill_null(
            value=False
        )

    return _Node(place, make)


def _nullness(tokens: pp.ParseResults) -> _Node:
    place, name, *negated = tokens

    def make(text: str, schema: Mapping[str, pl.DataType]) -> pl.Expr:
        _dtype(text, place, name, schema)
        return pl.col(name).is_not_null() if negated else pl.col(name).is_null()

    return _Node(place, make)


def _flag(tokens: pp.ParseResults) -> _Node:
    place, name = tokens

    def make(text: str, schema: Mapping[str, pl.DataType]) -> pl.Expr:
        if _dtype(text, place, name, schema) != pl.Boolean:
            _fail(f"what should {name} be?", text, place + len(name), _SYNTAX)
        return pl.col(name).fill_null(value=False)

    return _Node(place, make)


def _negation(tokens: pp.ParseResults) -> _Node:
    (inner,) = (node for node in tokens[0] if isinstance(node, _Node))
    return _Node(inner.place, lambda text, schema: ~inner.expression(text, schema))


def _joined(join: Callable[[list[pl.Expr]], pl.Expr]) -> Callable[[pp.ParseResults], _Node]:
    def action(tokens: pp.ParseResults) -> _Node:
        parts = [node for node in tokens[0] if isinstance(node, _Node)]

        def make(text: str, schema: Mapping[str, pl.DataType]) -> pl.Expr:
            return join([part.expression(text, schema) for part in parts])

        return _Node(parts[0].place, make)

    return action


# ---- what fits the columns -----------------------------------------------------------------------


def _dtype(text: str, place: int, name: str, schema: Mapping[str, pl.DataType]) -> pl.DataType:
    if name not in schema:
        some = f"There are {', '.join(list(schema)[:_LISTED])}, …"
        hint = did_you_mean(name, schema.keys(), some)
        _fail(f"there is no column {name!r} in this table", text, place, hint)
    return schema[name]


def _fitting(text: str, place: int, name: str, dtype: pl.DataType, value: object) -> object:
    """The value as something that the column can be compared with."""
    if dtype == pl.String:
        return str(value)
    if dtype == pl.Boolean:
        if not isinstance(value, bool):
            _fail(f"{name} is true or false", text, place)
        return value
    if isinstance(dtype, pl.Datetime):
        try:
            return datetime.fromisoformat(str(value))
        except ValueError:
            _fail(f"{name} is a time", text, place, "Write it as 2026-11-21T03:56:51.277.")
    if isinstance(value, bool) or not isinstance(value, int | float):
        _fail(f"{name} is a number", text, place)
    return value


def _fail(what: str, text: str, place: int, hint: str | None = None) -> NoReturn:
    raise QueryError(what, text, place, hint)
