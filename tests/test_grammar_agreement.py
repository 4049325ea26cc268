"""Both engines on real logs: they agree, and no record of a covered file is unknown to them."""

from __future__ import annotations

import polars as pl
import pytest

from tests.samples import UNLIKE, raw_log
from tflogscope.grammar import exact, fast
from tflogscope.grammar.load import load_grammar

pytestmark = pytest.mark.thorough

GRAMMAR = load_grammar()
#: Distinct texts of each message that pyparsing reads; it is slow.
TEXTS_PER_MESSAGE = 20


def covered_records(text: str) -> pl.DataFrame:
    """`file` and `text` of every line with a known prefix of a file that the grammar covers."""
    lines = pl.DataFrame({"line": text.split("\n")})
    found = pl.concat(
        lines.select(
            file=pl.col("line")
            .str.extract_groups(prefix.pattern)
            .struct.field("path")
            .str.extract(r"([^/]+)$"),
            text=pl.col("line").str.replace(prefix.pattern, ""),
        ).drop_nulls("file")
        for prefix in GRAMMAR.prefixes.values()
    )
    return found.filter(pl.col("file").is_in(list(GRAMMAR.files)))


@pytest.mark.parametrize("name", UNLIKE)
def test_both_engines_agree_on_a_real_log(name: str) -> None:
    log = raw_log(name).decode(errors="replace")
    for (file,), records in covered_records(log).unique().group_by("file"):
        grammar = GRAMMAR.files[str(file)]
        texts = records["text"]
        claimed = records.with_columns(id=fast.match_messages(texts, grammar)).drop_nulls("id")
        for (id_,), group in claimed.group_by("id"):
            message = GRAMMAR.message(str(id_))
            chosen = group["text"].sort()
            step = max(1, chosen.len() // TEXTS_PER_MESSAGE)
            some = chosen.gather_every(step)
            parsed = [exact.parse(message, text) for text in some]
            if message.fields:
                rows = fast.extract(some, message).to_dicts()
                for text, row, fields in zip(some, rows, parsed, strict=True):
                    assert row == fields, text
