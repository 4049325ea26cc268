from __future__ import annotations

import io
import re
import unicodedata
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.samples import run_of
from tests.stub import HOSTILE, ops_frame
from tflogscope.grammar.load import packaged_toml
from tflogscope.model.common.figures import duration
from tflogscope.stores.figures import FIGURES
from tflogscope.stores.trend import trend_frame
from tflogscope.views import document as doc
from tflogscope.views.table import frame_document, ops_on_screen
from tflogscope.views.terminal import draw
from tflogscope.views.text import make_console, shorten, text


def drawn(frame: pl.DataFrame, width: int = 100, limit: int = 500) -> str:
    console = make_console(io.StringIO(), colour=False)
    console.width = width
    with console.capture() as captured:
        draw(frame_document(frame, limit), console)
    return captured.get()


@given(st.lists(st.text() | st.sampled_from(HOSTILE), min_size=1, max_size=4), st.integers(20, 200))
def test_no_table_is_wider_than_the_terminal_or_has_an_effect(names: list[str], width: int) -> None:
    picture = drawn(ops_frame(names), width)
    assert {c for c in picture if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}} == {"\n"}
    assert max(map(cell_len, picture.split("\n"))) <= width
    assert picture == drawn(ops_frame(names), width)


def test_markup_and_escapes_are_shown_as_they_are() -> None:
    picture = drawn(pl.DataFrame({"op": ["[/bold]", "[red]x", "\x1b[31m", ":smile:"]}))
    for shown in ("[/bold]", "[red]x", r"\x1b[31m", ":smile:"):
        assert shown in picture


def test_numbers_are_right_aligned_and_grouped_but_line_numbers_are_not() -> None:
    frame = pl.DataFrame(
        {"executions": [1234567, 5], "line": [1234567, 5], "total_us": [1500, None]}
    )
    picture = drawn(frame).split("\n")
    assert picture[0].split() == ["executions", "line", "total"]
    assert picture[2].split() == ["1,234,567", "1234567", "1.50", "ms"]
    assert picture[3].rstrip() == f"{'5':>10}  {'5':>7}"


def test_long_names_lose_their_middle_first_and_columns_only_then() -> None:
    frame = pl.DataFrame({"node": ["while/body/" + "x" * 100 + "/MatMul_1"], "executions": [7]})
    picture = drawn(frame, 60)
    assert "while/body/" in picture
    assert "/MatMul_1" in picture
    assert "executions" in picture
    narrow = drawn(frame, 20)
    assert "columns not shown: executions" in " ".join(narrow.split())


def test_rows_beyond_the_limit_are_counted() -> None:
    picture = drawn(pl.DataFrame({"line": range(1500)}), limit=3)
    assert len(picture.strip().split("\n")) == 2 + 3 + 1
    assert "1,497 more rows" in picture


def test_columns_that_hold_nothing_are_named_and_take_no_room() -> None:
    picture = drawn(pl.DataFrame({"op": ["Mul"], "causes": pl.Series([None], dtype=pl.String)}))
    assert picture == "op\n───\nMul\nomitted, because empty: causes\n"


def test_no_line_ends_with_blanks() -> None:
    frame = pl.DataFrame({"node": ["a", "b" * 30], "line": [1, None], "op": ["Mul", None]})
    for line in drawn(frame, 60).split("\n"):
        assert line == line.rstrip()


def test_a_name_keeps_enough_to_be_told() -> None:
    picture = drawn(pl.DataFrame({name: ["n" * 40] for name in "abcd"}), 50)
    assert picture.split("\n")[2] == f"{'n' * 12}…{'n' * 11}  {'n' * 12}…{'n' * 11}"
    assert "columns not shown: c, d" in picture


def test_what_is_shown_first_are_columns_of_the_table() -> None:
    run = run_of("cnn_fit__tf2.13.1__vlog0__vmodule")
    a_run = dict.fromkeys(("run", "start", "step_function", *(each.key for each in FIGURES)))
    trend = trend_frame([{"series": "fit", "runs": [a_run], "changes": []}])
    for table, names in packaged_toml("sentences/columns.toml")["first-on-screen"].items():
        frame = trend if table == "trend" else getattr(run, table)
        frame = ops_on_screen(frame) if table == "ops" else frame
        assert set(names) <= set(frame.columns), table


@pytest.mark.parametrize("values", [[], [None]])
def test_nothing_to_show_is_still_a_table(values: list[None]) -> None:
    assert "op" in drawn(pl.DataFrame({"op": pl.Series(values, dtype=pl.String)}))


@pytest.mark.parametrize(
    ("microseconds", "shown"),
    [
        (0, "0 µs"),
        (7, "7 µs"),
        (999, "999 µs"),
        (1.234, "1.23 µs"),
        (9.995, "10.0 µs"),
        (99.95, "100 µs"),
        (999.6, "1.00 ms"),
        (1500, "1.50 ms"),
        (12345, "12.3 ms"),
        (999_499, "999 ms"),
        (1_000_000, "1.00 s"),
        (59_960_000, "1 min 00 s"),
        (125_000_000, "2 min 05 s"),
        (3_600_000_000, "1 h 00 min"),
        (-5, "-5 µs"),
    ],
)
def test_duration(microseconds: float, shown: str) -> None:
    assert duration(microseconds) == shown


@given(st.text(), st.integers(0, 30))
def test_shorten_fits(value: str, width: int) -> None:
    short = shorten(value, width)
    assert cell_len(short) <= width
    assert short == value or width == 0 or "…" in short


def test_shorten_keeps_both_ends() -> None:
    assert shorten("__inference_train_function_8586", 15) == "__infer…on_8586"


def test_text_is_never_markup() -> None:
    assert text("[bold]x[/bold]\x1b").plain == r"[bold]x[/bold]\x1b"


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
    ],
)
def test_colour_follows_the_environment(
    environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    make_console(stream).print(text("x", "bold red"))
    assert ("\x1b[" in stream.getvalue()) is coloured


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_on_a_terminal(
    environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = _Terminal()
    make_console(stream).print(text("x", "bold red"))
    assert ("\x1b[" in stream.getvalue()) is coloured


def test_no_work_has_no_shares() -> None:
    ops = pl.DataFrame({"kind": ["op"], "op": ["Mul"], "kernel": ["Mul"], "dead": [0]})
    ops = ops.with_columns(steady_us=pl.lit(0.0), total_us=7, rewrite=pl.lit("none"))
    assert ops_on_screen(ops).row(0, named=True)["share"] is None


def test_what_says_nothing_of_ops_takes_no_room() -> None:
    ops = pl.DataFrame({"kind": ["op", "op"], "op": ["Mul", "MatMul"], "dead": [0, 0]})
    ops = ops.with_columns(steady_us=pl.Series([3.0, 1.0]), total_us=pl.Series([3, 1]))
    ops = ops.with_columns(rewrite=pl.lit("none"))
    same = ops_on_screen(ops.with_columns(kernel="op"))
    assert not {"kind", "dead", "kernel", "rewrite"} & set(same.columns)
    other = ops.with_columns(
        kind=pl.Series(["op", "plumbing"]),
        dead=pl.Series([0, 1]),
        kernel=pl.Series(["Mul", "_MklMatMul"]),
    )
    assert ops_on_screen(other)["kernel"].to_list() == [None, "_MklMatMul"]
    assert {"kind", "dead"} <= set(ops_on_screen(other).columns)


def test_shares_are_of_all_ops_and_leave_calls_out() -> None:
    ops = ops_on_screen(run_of("keras_fit_mlp__tf2.13.1__vlog2").ops)
    work = ops.filter(pl.col("kind") != "call")
    assert not ops.filter(kind="call")["share"].count()
    assert work["cumulative"].drop_nulls()[-1] == "100.0%"
    first = float(work["steady_us"][0]) / float(work["steady_us"].sum())
    assert work["share"][0] == f"{100 * first:.1f}%"


def test_each_table_of_columns_is_drawn_by_a_view() -> None:
    rows = {*packaged_toml("sentences/columns.toml")} - {"first-on-screen"}
    texts = [path.read_text("utf-8") for path in Path(doc.__file__).parent.rglob("*.py")]
    drawn = {name for text in texts for name in re.findall(r"\bcolumns\(f?\"([\w{-]+)", text)}
    assert {re.sub("^run-.*", "run-{id_", name) for name in rows} == drawn
    for column in (column for name in rows for column in doc.columns(name)):
        assert column.kind in get_args(doc.Kind), column
        assert column.tone in get_args(doc.Tone), column
