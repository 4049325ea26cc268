"""SQL over the tables of a run, by polars: SELECT, and the condition of `--where`."""

from __future__ import annotations

import re

import polars as pl
from polars._plr import PySQLContext

from tflogscope.errors import QueryError, is_damage
from tflogscope.exports.schema import TABLES

_HINT = f"Tables: {', '.join(TABLES)}; in a store also runs."
_CONDITION = "Write a SQL condition, with strings in single quotes: op = 'MatMul' AND line > 9."
_SELECT = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:select|with)\b", re.IGNORECASE | re.DOTALL)
_RECURSIVE = re.compile(r"\bwith\s+recursive\b", re.IGNORECASE)
# What is not part of the statement's shape: strings, quoted names, comments.
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)
# polars takes a deep statement apart by recursion, and a stack that is too small ends the process.
_DEPTH = (
    (
        re.compile(r"[-+*/%|<>=]+|\b(?:and|or|not|case|when|like|between|is|in)\b", re.IGNORECASE),
        1000,
    ),
    (re.compile(r"\b(?:select|join|union|intersect|except|values)\b", re.IGNORECASE), 100),
)
_POSITION = re.compile(r"\bLine: (\d{1,9}), Column: (\d{1,9})")
_NAMED = re.compile(r"""(?:'|"|`)([^'"`]+)(?:'|"|`)""")
_UNKNOWN = "unsupported function"
FUNCTIONS = (
    *("COUNT", "SUM", "AVG", "MEDIAN", "QUANTILE_CONT", "MIN", "MAX", "STDDEV", "FIRST", "LAST"),
    *("ABS", "ROUND", "CEIL", "FLOOR", "LN", "LOG10", "POW", "SQRT", "COALESCE", "NULLIF", "IF"),
    *("LENGTH", "LOWER", "UPPER", "LEFT", "RIGHT", "REPLACE", "SUBSTR", "SPLIT_PART", "STRPOS"),
    *("STARTS_WITH", "REGEXP_LIKE", "CONCAT", "DATE_PART", "ROW_NUMBER", "RANK", "LAG", "LEAD"),
)
_SHOWN = 5
_DUMP = " span: Span("  # the parser's own structures, which name the place but nothing that helps
MAX_ROWS = 10_000_000
_NO_FUNCTION = "is not a supported table function"


def require_select(statement: str, tables: tuple[str, ...] = TABLES) -> list[str]:
    """Refuse anything but a SELECT before logs are read for it; return the tables that it names.

    polars' own parser says what is where a table may be, so that nothing that it
    reads is read in another way here.

    Raises:
        QueryError: it is none, or reads files.
    """
    if not _SELECT.match(statement):
        raise QueryError("only SELECT is supported", statement, 0, _HINT)
    _require_shallow(statement)
    try:
        named = PySQLContext.table_identifiers(statement, include_schema=False, unique=True)
    except pl.exceptions.PolarsError as error:
        raise _not_understood(statement, error) from error
    for name in named:
        if name.lower() not in tables and _is_table_function(name):
            place = max(0, statement.find(name))
            what = f"{name} would read other data; queries can't read files"
            raise QueryError(what, statement, place, _HINT)
    return [name for name in tables if name in {table.lower() for table in named}]


def _require_shallow(statement: str) -> None:
    shape = _QUOTED.sub(" ", statement)
    if _RECURSIVE.search(shape):
        raise QueryError("WITH RECURSIVE is not supported", statement, 0, _HINT)
    for words, most in _DEPTH:
        if (count := len(words.findall(shape))) > most:
            some = ", ".join(dict.fromkeys(words.findall(shape)[:_SHOWN]))
            what = f"{count:,} operators ({some}, …); the limit is {most:,}"
            raise QueryError(
                what, statement, 0, "A list of values counts as one operator: op IN (…)"
            )


def _is_table_function(name: str) -> bool:
    """Whether polars has a function of this name that makes a table (`read_csv`).

    All others are WITH's, or not there, which polars will say itself.
    """
    quoted = name.replace('"', '""')
    try:
        with pl.SQLContext(eager=True) as context:
            context.execute(f'SELECT * FROM "{quoted}"()')  # noqa: S608  it is quoted
    except pl.exceptions.PolarsError as error:
        return _NO_FUNCTION not in str(error)
    return True


def select(run: object, statement: str) -> pl.DataFrame:
    """The answer to a SELECT (or WITH … SELECT) over the tables of a run or a store.

    Only the tables that the statement names are made.

    Raises:
        QueryError: it is not a SELECT, names a file or a table that is not there, is wrong, has
            too many operators, or more rows than `MAX_ROWS`.
    """
    tables = getattr(run, "tables", TABLES)
    frames = {name: getattr(run, name) for name in require_select(statement, tables)}
    try:
        with pl.SQLContext(frames, eager=False) as context:
            answer = context.execute(statement).head(MAX_ROWS + 1)
            # Joins can make very many rows; this engine makes no more than are asked for.
            streamed = "JOIN" in answer.explain(optimized=False)
            table = answer.collect(engine="streaming" if streamed else "in-memory")
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        if is_damage(error):
            raise
        raise _not_understood(statement, error) from error
    except pl.exceptions.PanicException as error:
        raise _not_understood(statement, RuntimeError(f"polars failed: {error}")) from error
    if table.height > MAX_ROWS:
        what = f"the result has more than {MAX_ROWS:,} rows"
        raise QueryError(what, statement, 0, "Add a WHERE or a LIMIT.")
    return table


def where(frame: pl.DataFrame, condition: str) -> pl.DataFrame:
    """The rows of a table for which a SQL condition holds, in their order.

    Raises:
        QueryError: it can't be understood, or doesn't fit the columns.
    """
    _require_shallow(condition)
    hint = f"{_CONDITION} Columns: {', '.join(frame.columns)}."
    try:
        return frame.filter(pl.sql_expr(condition))
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise _not_understood(condition, error, hint) from error
    except pl.exceptions.PanicException as error:
        raise _not_understood(condition, RuntimeError(f"polars failed: {error}"), hint) from error


def _not_understood(statement: str, error: Exception, hint: str = _HINT) -> QueryError:
    reason = " ".join(str(error).split("\n\n", maxsplit=1)[0].split())
    if reason.startswith(_UNKNOWN):
        hint = f"Functions are those of polars, such as {', '.join(FUNCTIONS)}."
    place = _place(statement, reason)
    if _DUMP in reason:
        reason = "this expression is not supported; texts are in single quotes"
    return QueryError(reason or "can't be parsed", statement, place, hint)


def _place(statement: str, reason: str) -> int:
    """Where polars says that a statement is wrong, or what it names stands; 0: it says neither."""
    if match := _POSITION.search(reason):
        line, column = (int(number) - 1 for number in match.groups())
        before = statement.split("\n")[:line]
        return min(sum(len(text) + 1 for text in before) + column, len(statement))
    if named := _NAMED.search(reason):
        word = re.search(rf"(?<!\w){re.escape(named[1])}(?!\w)", statement, re.IGNORECASE)
        return word.start() if word else 0
    return 0
