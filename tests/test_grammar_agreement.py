"""Both engines on real logs: they agree, and no record of a covered file is unknown to them."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
import zstandard

from tflogscope.grammar import exact, fast
from tflogscope.grammar.load import load_grammar

pytestmark = pytest.mark.thorough

GRAMMAR = load_grammar()
SAMPLE_LOGS = Path(__file__).parent.parent / "sample_logs"
#: Distinct texts of each message that pyparsing reads; it is slow.
TEXTS_PER_MESSAGE = 20


def find_logs() -> list[Path]:
    return sorted(
        path
        for path in SAMPLE_LOGS.rglob("*")
        if path.name.endswith((".log", ".log.gz", ".log.zst"))
    )


def read_log(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data.decode("utf-8", errors="replace")


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


def pytest_params() -> list[object]:
    logs = find_logs()
    if not logs:
        skip = pytest.mark.skip(reason="sample_logs/ holds no logs")
        return [pytest.param(None, marks=skip)]
    return [pytest.param(path, id=str(path.relative_to(SAMPLE_LOGS))) for path in logs]


@pytest.mark.parametrize("path", pytest_params())
def test_both_engines_agree_on_a_real_log(path: Path) -> None:
    for (file,), records in covered_records(read_log(path)).unique().group_by("file"):
        grammar = GRAMMAR.files[str(file)]
        texts = records["text"]
        claimed = records.with_columns(id=fast.match_messages(texts, grammar)).drop_nulls("id")
        for (id_,), group in claimed.group_by("id"):
            message = GRAMMAR.message(str(id_))
            chosen = group["text"].sort()
            step = max(1, chosen.len() // TEXTS_PER_MESSAGE)
            for text in chosen.gather_every(step):
                fields = exact.parse(message, text)
                if message.fields:
                    row = fast.extract(pl.Series([text]), message).row(0, named=True)
                    assert row == fields, text
