from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from datetime import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.stub import HOSTILE, ops_frame
from tflogscope.cli.output import destination
from tflogscope.errors import UsageError
from tflogscope.exports import csv_text, json_text
from tflogscope.exports.csv_text import spreadsheet_safe
from tflogscope.exports.formats import FORMATS, format_of_file
from tflogscope.exports.schema import SCHEMA_VERSION

texts = st.lists(st.text() | st.sampled_from(HOSTILE) | st.none(), max_size=5)


def written(name: str, frame: pl.DataFrame, table: str = "ops") -> bytes:
    stream = io.BytesIO()
    FORMATS[name].write(frame, stream, table)
    return stream.getvalue()


def strings(values: list[str | None]) -> pl.DataFrame:
    return pl.DataFrame({"s": pl.Series(values, dtype=pl.String)})


def effects(text: str) -> set[str]:
    """The characters that a terminal would obey."""
    bad = {"Cc", "Cf", "Zl", "Zp"}
    return {character for character in text if unicodedata.category(character) in bad}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.csv", "csv"),
        ("B.JSON", "json"),
        ("b.jsonl", "jsonl"),
        ("b.ndjson", "jsonl"),
        ("b.parquet", "parquet"),
        ("b.arrow", "arrow"),
        ("b.feather", "arrow"),
        ("b.ipc", "arrow"),
    ],
)
def test_the_suffix_says_the_format(path: str, name: str) -> None:
    assert format_of_file(path).name == name


@pytest.mark.parametrize("path", ["ops", "ops.xlsx", "ops.csv.gz"])
def test_an_unknown_suffix_is_wrong_usage(path: str) -> None:
    with pytest.raises(UsageError) as caught:
        format_of_file(path)
    assert ".parquet" in str(caught.value.hint)


# CSV


def test_csv_of_all_kinds_of_values() -> None:
    frame = pl.DataFrame(
        {
            "text": ["a,b", 'say "x"', "", None],
            "kind": pl.Series(["=x", "b", None, "b"], dtype=pl.Categorical),
            "step": [-1, 2, 3, None],
            "time": [datetime(2023, 7, 1, 12, 0, 0, 5), None, None, None],  # noqa: DTZ001
            "us": [1.5, float("nan"), float("inf"), None],
            "ran": [True, False, None, None],
            "lines": [[1, 2], [], None, [3]],
        }
    )
    assert written("csv", frame).decode() == (
        "text,kind,step,time,us,ran,lines\n"
        '"a,b",\'=x,-1,2023-07-01T12:00:00.000005,1.5,true,1;2\n'
        '"say ""x""",b,2,,,false,""\n'
        '"",,3,,,,\n'
        ",b,,,,,3\n"
    )


@pytest.mark.parametrize(
    "formula",
    [
        "=1+1",
        "+1",
        "-1+cmd|' /C calc'!A0",
        "@SUM(A1)",
        "\tx",
        "\nx",
        "  =1",
        "\u3000=1",
        "'=1",
        "\"'=1",
        "\uff1d1",
        "\uff0b1",
        "\uff0d1",
        "\uff201",
        "=\n1",
    ],
)
def test_formulas_are_quoted_in_csv(formula: str) -> None:
    assert spreadsheet_safe(strings([formula]))["s"].to_list() == ["'" + formula]


def test_a_carriage_return_is_shown_so_it_can_not_lead() -> None:
    assert spreadsheet_safe(strings(["\r=1"]))["s"].to_list() == [r"\x0d=1"]


@pytest.mark.parametrize("plain", ["-", "a=b", "x-1", "", " ", "1", "tensorflow::Status"])
def test_plain_text_is_left_alone_in_csv(plain: str) -> None:
    assert spreadsheet_safe(strings([plain]))["s"].to_list() == [plain]


def test_ci_commands_are_shown_in_csv() -> None:
    shown = spreadsheet_safe(strings(["::error::x", "a\n::error::x", "x ##vso[y]"]))
    assert shown["s"].to_list() == [r"\x3a:error::x", "a\n\\x3a:error::x", r"x \x23#vso[y]"]


@given(texts)
def test_csv_reads_back_as_the_safe_strings(values: list[str | None]) -> None:
    frame = strings(values).with_row_index("number")
    data = written("csv", frame)
    assert effects(data.decode()) <= set("\t\n")
    back = pl.read_csv(io.BytesIO(data), schema={"number": pl.UInt32, "s": pl.String})
    assert_frame_equal(back, spreadsheet_safe(frame))
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert [row[1] for row in rows[1:]] == [each or "" for each in spreadsheet_safe(frame)["s"]]


@given(st.lists(st.text(st.characters(categories=["L", "N", "S"], exclude_characters="=+＝＋:#"))))
def test_harmless_text_goes_through_csv_unchanged(values: list[str]) -> None:
    frame = strings(list(values)).with_row_index("number")
    back = pl.read_csv(io.BytesIO(written("csv", frame)), schema=frame.schema)
    assert_frame_equal(back, frame)


# JSON


@given(texts)
def test_json_holds_the_exact_text_and_nothing_to_obey(values: list[str | None]) -> None:
    frame = strings(values)
    rows = frame.to_dicts()
    data = written("json", frame).decode()
    assert effects(data) <= {"\n"}
    assert "##[" not in data
    assert json.loads(data) == {"schema_version": SCHEMA_VERSION, "table": "ops", "rows": rows}
    lines = written("jsonl", frame).decode()
    assert effects(lines) <= {"\n"}
    assert [json.loads(line) for line in lines.split("\n")[:-1]] == rows


def test_json_values() -> None:
    frame = pl.DataFrame(
        {
            "step": [-1],
            "uid": pl.Series([2**64 - 1], dtype=pl.UInt64),
            "start": [datetime(2023, 7, 1, 12)],  # noqa: DTZ001
            "us": [float("nan")],
            "node": pl.Series([None], dtype=pl.String),
        }
    )
    assert json.loads(written("jsonl", frame)) == {
        "step": -1,
        "uid": 2**64 - 1,
        "start": "2023-07-01T12:00:00.000000",
        "us": None,
        "node": None,
    }


# All formats, those that are added later too


# What a program that opens the format takes as text. A new format is in none of these sets.
WITHOUT_FORMULAS = {"json", "jsonl"}
WITHOUT_MARKUP = {"csv", "json", "jsonl"}


@pytest.mark.parametrize("name", [each.name for each in FORMATS.values() if not each.binary])
def test_names_have_no_effect_in_any_text_format(name: str) -> None:
    """A terminal, a CI runner, a spreadsheet and a browser take them as text."""
    markup = ["<img src=x onerror=alert(1)>", "<b>x</b>", '" onclick="x', "]]><x/>"]
    text = written(name, ops_frame(HOSTILE + markup)).decode()
    assert effects(text) <= set("\t\n"), "escape it with tflogscope.escapes"
    assert not re.search(r"##\w*\[", text), "GitHub and Azure run this"
    assert not re.search(r"(?m)^::", text), "GitHub runs this"
    if name not in WITHOUT_FORMULAS:
        assert not re.search(r'(?m)(?:^|[,;|\t">])\s*=1\+1', text), "a spreadsheet runs this"
    if name not in WITHOUT_MARKUP:
        assert not re.search(r"<(?:img|b|x/|/script)\b", text), "a browser takes this as an element"


@pytest.mark.parametrize("name", [each.name for each in FORMATS.values() if each.binary])
def test_a_binary_format_is_not_printed_on_a_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with pytest.raises(UsageError, match="is binary"):
        destination(None, name, force=False, inputs=[])


@pytest.mark.parametrize("name", ["csv", "json", "jsonl"])
def test_text_is_written_in_slices_that_join(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = ops_frame(HOSTILE)
    whole = written(name, frame)
    for module in (csv_text, json_text):
        monkeypatch.setattr(module, "SLICE_ROWS", 3)
    assert written(name, frame) == whole


def test_empty_tables() -> None:
    frame = ops_frame(HOSTILE).clear()
    assert written("csv", frame).decode().split("\n")[1:] == [""]
    assert json.loads(written("json", frame))["rows"] == []
    assert written("jsonl", frame) == b""
    assert pl.read_parquet(written("parquet", frame)).schema == frame.schema


# columnar


def test_parquet_holds_the_frame_and_its_version() -> None:
    frame = ops_frame(HOSTILE)
    data = written("parquet", frame, "timeline")
    assert_frame_equal(pl.read_parquet(data), frame)
    metadata = pl.read_parquet_metadata(io.BytesIO(data))
    assert metadata["schema_version"] == str(SCHEMA_VERSION)
    assert metadata["table"] == "timeline"


def test_arrow_holds_the_frame() -> None:
    frame = ops_frame(HOSTILE)
    assert_frame_equal(pl.read_ipc(written("arrow", frame)), frame)
