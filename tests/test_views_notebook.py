"""What a notebook shows: a table that a hostile log can't break out of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from typing import Any, cast

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import Log
from tests.samples import run_of
from tests.stub import HOSTILE
from tflogscope import Run
from tflogscope.escapes import safe
from tflogscope.model.common.facts import Entry, Summary
from tflogscope.model.overview.headline import Figure, Headline
from tflogscope.views.notebook import run_html

MLP = "function_mlp__tf2.13.1__vlog2"
TAGS = {"table", "caption", "tbody", "tr", "th", "td"}


class Page(HTMLParser):
    """Collects tags, attributes and the text of cells, as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.cells: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)
        if tag in {"th", "td"}:
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"th", "td"}:
            self.cells[-1] += data

    @property
    def rows(self) -> dict[str, str]:
        return dict(zip(self.cells[::2], self.cells[1::2], strict=True))


@dataclass
class Named:
    """A run with a summary and a headline of its own."""

    summary: Summary
    headline: Headline


def summary(name: str, *, sources: int = 1, functions: int = 1) -> Run:
    """A real run with these names."""
    real = run_of(MLP).summary
    function = real.functions.head(1).with_columns(
        function=pl.lit(name), function_uid=pl.lit(7, pl.UInt64), calls=pl.lit(2)
    )
    recorded = Entry(
        real.recorded, sources=[name] * sources, tensorflow_dialect=name, onednn_version=name
    )
    made: dict[str, Any] = real.facts() | {
        "recorded": recorded,
        "functions": pl.concat([function] * functions),
    }
    facts = Summary(**{fact: partial(made.get, fact) for fact in made})
    headline = Headline([name], "nothing-ran", name, [Figure("Traces", name, name)])
    return cast("Run", Named(facts, headline))


def test_it_says_what_a_real_log_holds() -> None:
    page = Page(run_html(run_of(MLP)))
    assert page.tags == TAGS
    assert page.rows["log"].endswith("tf2.13.1__vlog2.log.zst")
    form = "TensorFlow · log format classic · VLOG level 2 · oneDNN 2.7.3 · "
    assert page.rows["format"].startswith(form)
    assert page.rows["lines"].startswith("10,440: ")
    assert page.rows["functions"] == "infer 51 (4 calls), train 116 (4 calls)"
    assert page.rows["graph op nodes (all threads)"].endswith(" 32 on oneDNN kernels")
    headline = run_of("function_mlp__tf2.13.1__vlog2").headline
    assert page.rows["verdict"] == headline.verdict
    assert page.rows["duration"].startswith(headline.figures[0].value)


@pytest.mark.parametrize(
    "name", [*HOSTILE, "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&lt;b&gt;"]
)
def test_hostile_names_stay_text(name: str) -> None:
    page = Page(run_html(summary(name)))
    assert page.tags == TAGS
    assert page.attributes == {"class", "style"}
    assert page.rows["verdict"] == safe(name)
    assert page.rows["log"].endswith(f": {safe(name)}")
    assert page.rows["functions"] == safe(f"{name} 7 (2 calls)")
    assert safe(name) in page.rows["format"]


def test_mathematics_is_left_alone() -> None:
    (first, *_) = run_html(summary(r"$\href{javascript:alert(1)}{x}$")).splitlines()
    assert "tex2jax_ignore" in first
    assert "mathjax_ignore" in first


def test_long_lists_are_cut_and_say_so() -> None:
    rows = Page(run_html(summary("f", sources=8, functions=15))).rows
    assert rows["log"].endswith(": f, f, f and 5 more")
    assert rows["functions"].endswith(" and 5 more")


def test_a_hostile_function_in_a_log(opened: Open) -> None:
    log = Log()
    name = "__inference_<script>alert(1)</script>_9"
    log.entering(name)
    log.executing(name)
    log.exiting(name)
    page = Page(run_html(opened(log)))
    assert page.tags == TAGS
    assert page.rows["functions"] == "<script>alert(1)</script> 9 (1 call)"


def test_a_log_with_nothing_but_onednn_lines() -> None:
    page = Page(run_html(run_of("torch_mlp__torch2.13.0__vlog2")))
    headline = run_of("torch_mlp__torch2.13.0__vlog2").headline
    figures = {each.name[0].lower() + each.name[1:] for each in headline.figures}
    assert set(page.rows) == {"run", "verdict", "log", "format", "lines"} | figures
    assert "no TensorFlow records" in page.rows["format"]
