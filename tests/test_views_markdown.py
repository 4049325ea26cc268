"""Markdown: what a log says stays text, read as GitHub's Markdown by a parser that allows HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.samples import UNLIKE, run_of
from tests.test_check_formats import NASTY, assert_harmless, hostile
from tflogscope.escapes import safe
from tflogscope.views.analyze import analyze_document
from tflogscope.views.check import verdict_document
from tflogscope.views.document import (
    Code,
    Column,
    Document,
    Fact,
    Figures,
    Finding,
    Findings,
    Folded,
    Full,
    Item,
    Line,
    Link,
    Paragraph,
    Section,
    Table,
)
from tflogscope.views.html import html
from tflogscope.views.markdown import markdown
from tflogscope.views.terminal import drawn

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
TAGS = {"h2", "h3", "p", "ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td", "code"}
MEAN = [
    *NASTY,
    "|",
    "a | b",
    "`a`",
    "``` sh",
    "a\\",
    "\\|",
    "[a](javascript:alert(1))",
    "![a](https://example.com/a.png)",
    "<img src=x onerror=alert(1)>",
    "<!-- a -->",
    "&lt;b&gt; &#60;",
    "https://example.com www.example.com a@example.com",
    "@someone #12",
    "$x$ $$y$$",
    "**a** __b__ _c_ ~~d~~ *e*",
    "# a",
    "- a",
    "+ a",
    "1. a",
    "12) a",
    "> a",
    "===",
    "---",
    "    code",
    "[x]: https://example.com",
    "[^1]: note",
]


class Read(HTMLParser):
    """Elements, attributes, and the text as a browser shows it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.said = ""
        self.feed(READER.render(text))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.said += data


def everywhere(name: str) -> Document:
    """A document with this text wherever one can be."""
    columns = (Column("name", name, "name"), Column("text", "text"), Column("list", "l", "list"))
    row = {"name": name, "text": (name, Line(7, name)), "list": name}
    details = (Fact("change", name),)
    return (
        Section(name, (Paragraph(name), Paragraph((Code(name), name, Link(name, name))))),
        Fact(name, name, [name, name]),
        Item(name, (Item(name), Table(columns, [row]))),
        Folded(name, (Figures([(name, name, name)]),)),
        Findings(
            [Finding("error", name, name, name, name, "", name, name, Line(7, name), details)]
        ),
        Table(columns, [row, row], name),
        Full(lambda: [Paragraph(name)]),
    )


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("name", MEAN)
def test_hostile_text_makes_nothing_but_text(name: str) -> None:
    text = markdown(everywhere(name))
    assert_harmless(text)
    assert not re.search(r"^\s*::", text, re.MULTILINE)
    read = Read(text)
    assert read.tags <= TAGS, read.tags - TAGS
    assert not read.attributes - {"style"}  # the alignment of a table
    assert read.said.count(safe(name).strip()) >= 12
    # GitHub links, mentions and typesets in what is not escaped in the source.
    bare = re.sub(r"`[^`\n]*`", "", text)
    assert not re.search(r"\w://|\bwww\.\w|@\w|(?<!\\)\$", bare)


@given(st.text() | st.sampled_from(MEAN))
def test_a_text_is_read_as_it_is(name: str) -> None:
    read = Read(markdown([Paragraph(name)]))
    assert read.tags <= {"p"}
    assert squeezed(read.said) == squeezed(safe(name))
    read = Read(markdown([Paragraph(("x ", Code(name)))]))
    assert read.tags <= {"p", "code"}
    assert squeezed(read.said) == "x" + squeezed(safe(name))


@given(st.lists(st.text() | st.sampled_from(MEAN), min_size=1, max_size=3))
def test_a_table_has_a_row_for_each_row(names: list[str]) -> None:
    rows = [{"name": name, "text": name} for name in names]
    columns = (Column("name", "name", "name"), Column("text", "text"), Column("n", "n", "count"))
    lines = markdown([Table(columns, [{**row, "n": 1} for row in rows])]).splitlines()
    assert len(lines) == 2 + len(rows)
    assert READER.render("\n".join(lines)).count("<tr>") == 1 + len(rows)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name[:500] for name in MEAN])  # rich wraps long ones for long
def test_the_same_document_is_harmless_in_the_terminal_and_on_a_page(name: str) -> None:
    assert_harmless(drawn(everywhere(name)))
    page = html(everywhere(name))
    assert_harmless(page)
    assert set(re.findall(r"<(\w+)", page)) <= TAGS | {
        *("section", "h2", "h3", "dl", "dt", "dd", "div", "caption", "span", "a", "ol", "b"),
        *("small", "details", "summary", "pre"),
    }


@pytest.mark.parametrize("name", NASTY)
def test_a_hostile_verdict_is_harmless(name: str) -> None:
    text = markdown(verdict_document(hostile(name)))
    assert_harmless(text)
    assert Read(text).tags <= TAGS


@pytest.mark.parametrize("name", UNLIKE)
def test_each_log_has_its_answer_in_markdown(name: str) -> None:
    document = analyze_document(run_of(name))
    read = Read(markdown(document))
    assert read.tags <= TAGS
    screen = drawn(document).split("\n\n")
    titles = [part.splitlines()[0] for part in screen]
    assert all(title in read.said for title in titles if not title.startswith(" "))


def test_lists_headings_and_tables_are_nested() -> None:
    table = Table(
        (Column("op", "op", "name"), Column("runs", "runs", "count")), [{"op": "Mul", "runs": 1200}]
    )
    document = (Section("A", (Item("x", (table,)), Item("y"), Section("B", (Fact("k", "v"),)))),)
    assert markdown(document) == (
        "## A\n\n- x\n\n  | op | runs |\n  | --- | --: |\n  | `Mul` | 1,200 |\n- y\n\n"
        "### B\n\n- **k** v\n"
    )
