"""SQL over the tables of a run: SELECT only, by polars."""

from __future__ import annotations

import re

import polars as pl

from tflogscope.errors import QueryError
from tflogscope.exports.schema import TABLES

_HINT = f"The tables are {', '.join(TABLES)}."


def require_select(statement: str) -> None:
    """Refuse what is no SELECT, before logs are read for it.

    Raises:
        QueryError: it is none, or reads files.
    """
    if not re.match(r"\s*(?:select|with)\b", statement, re.IGNORECASE):
        raise QueryError("only SELECT is possible", statement, 0, _HINT)
    if found := re.search(r"\b(?:read|scan)_\w+\s*\(", statement, re.IGNORECASE):
        raise QueryError("files can't be read here", statement, found.start(), _HINT)


def select(run: object, statement: str) -> pl.DataFrame:
    """The answer to a SELECT (or WITH … SELECT) over the tables of a run.

    Only the tables that the statement names are made.

    Raises:
        QueryError: it is no SELECT, names a file or a table that is not there, or is wrong.
    """
    require_select(statement)
    named = {word.lower() for word in re.findall(r"\w+", statement)}
    frames = {name: getattr(run, name) for name in TABLES if name in named}
    try:
        with pl.SQLContext(frames, eager=True) as context:
            return context.execute(statement)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split("\n\n", maxsplit=1)[0].split())
        raise QueryError(reason or "not understood", statement, 0, _HINT) from error
