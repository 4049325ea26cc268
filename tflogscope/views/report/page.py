"""The page put together: facts as HTML, the timeline as data, style and scripts inside it.

What a log says is text everywhere. A policy in the page lets the browser run the scripts that are
written into it here, allowed by their hashes, and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor

from tflogscope.model.run import Run
from tflogscope.views.analyze import (
    functions_section,
    lines_section,
    modes_section,
    ops_section,
)
from tflogscope.views.chart import timeline_svg, whole_activity
from tflogscope.views.document import Document, Figures, Node, Picture, Room
from tflogscope.views.findings import answers_section, findings_section, snippet
from tflogscope.views.html import html
from tflogscope.views.layers import layers_section, step_strip
from tflogscope.views.markup import Markup, element, joined
from tflogscope.views.onednn import onednn_section, whose
from tflogscope.views.recorded import busy_note, limits_section, recorded_section
from tflogscope.views.report.icicle import icicle_section
from tflogscope.views.report.packed import json_block, packed
from tflogscope.views.report.picture import gap_places, raw_lines, read_picture
from tflogscope.views.report.pieces import asset, filled
from tflogscope.views.report.timeline import timeline
from tflogscope.views.service import service_section
from tflogscope.views.time import time_bar, time_section
from tflogscope.views.timeline import gap_text

STYLES = ("report.css",)
SCRIPTS = (
    *("base.js", "data.js", "format.js", "tables.js", "rows.js", "canvas.js", "details.js"),
    *("search.js", "icicle.js", "main.js"),
)
PLAIN = ("base.js", "format.js", "tables.js", "plain.js")
"""Of pages that have tables and still pictures alone."""
_TITLES = (
    ("timeline", "Timeline"),
    ("findings", "Findings"),
    ("lines", "By line"),
    ("ops", "Ops"),
    ("functions", "Functions"),
    ("onednn", "{}"),
    ("limits", "Limits"),
    ("recorded", "Recorded"),
)


def report_page(run: Run, made_by: str, *, full: bool = False) -> str:
    """The page as text.

    Args:
        run: the run.
        made_by: the program that makes it, with its version.
        full: leave nothing out, however large the page becomes.

    Raises:
        InputError: an input can't be read any more, for its checksum.
    """
    with ThreadPoolExecutor() as pool:  # read the inputs once more while tables are made
        # One after the other: a source has one pass over its blocks at a time.
        inputs = pool.submit(lambda: run.inputs)
        facts = run.summary
        raw = pool.submit(lambda: (inputs.result(), raw_lines(run))[1])
        picture = read_picture(run, raw.result, full=full)
        large = pool.map(packed, picture.large.values())
        activity = whole_activity(run)
        still = timeline_svg(run, activity)
        idle = [gap_text(gap, run.slices.clock) for gap in activity.gaps]
        inputs.result()
    picture.data["gaps"] = gap_places(run, activity.gaps)
    picture.data.update(zip(picture.large, large, strict=True))
    room = Room(full=full)
    room.notes += picture.notes
    document: list[Node] = [
        Picture(_head(run)),
        Picture(timeline(still, whose(facts), idle)),
        findings_section(run),
        *answers_section(facts),
        *time_section(run),
        *(Picture(strip) for strip in (step_strip(run),) if strip),
        *service_section(facts),
        *icicle_section(run),
        lines_section(facts, room),
        *layers_section(run, room),
        *modes_section(facts),
        ops_section(run, room),
        functions_section(facts, room),
        *onednn_section(run, room),
        *limits_section(run, room),
        recorded_section(run, made_by),
    ]
    names = facts.recorded.sources
    title = f"tflogscope report: {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
    data = Markup(json_block(picture.data))
    block = element("script", data, type="application/json", id="picture")
    head = _header(run.headline.facts, whose(facts))
    body = joined(head, element("main", html(document)), filled("drawer"), block)
    return page(title, body, SCRIPTS)


def _head(run: Run) -> Markup:
    """The verdict, where the wall time went, and the figures."""
    headline = run.headline
    return element(
        "section",
        html([*busy_note(run.summary)]),
        element("p", headline.verdict, id="verdict", class_=headline.id),
        html(snippet(run)),
        time_bar(run),
        html([Figures(headline.figures, "way figures")]),
        aria_label="Verdict",
        id="head",
    )


def _header(facts: list[str], kernels: str) -> Markup:
    """What was recorded, links to the sections, and light or dark."""
    links = (element("a", name.format(kernels), href=f"#{id_}") for id_, name in _TITLES)
    program, *others = facts
    return element(
        "header",
        element("a", "Skip to the verdict", href="#head", class_="skip"),
        _bar(program, " ", element("small", " · ".join(others))),
        element("nav", *links, aria_label="Sections"),
    )


def _bar(*heading: str) -> Markup:
    """The heading of a page, and a switch for light or dark."""
    button = element("button", "Dark colours", type="button", id="theme")
    return element("div", element("h1", *heading), button, class_="bar")


def plain_page(title: str, document: Document, *heading: str) -> str:
    """A page of tables and still pictures; its heading is its title, if no other is given."""
    header = element("header", _bar(*(heading or (title,))))
    return page(title, joined(header, element("main", html(document))), PLAIN)


def page(title: str, body: Markup, names: tuple[str, ...] = ()) -> str:
    """A page that loads nothing, and runs nothing but the scripts that have these names."""
    style = joined(*map(asset, STYLES))
    scripts = [asset(name) for name in names]
    places = {
        "policy": joined(_policy([style], scripts)),
        "title": joined(title),
        "style": element("style", style),
        "body": body,
        "scripts": joined(*(element("script", script) for script in scripts)),
    }
    return f"<!DOCTYPE html>\n{filled('page', **places)}\n"


def _policy(styles: list[Markup], scripts: list[Markup]) -> str:
    """Nothing may be loaded, and nothing run but these texts."""

    def hashes(texts: list[Markup]) -> str:
        digests = (hashlib.sha256(text.encode()).digest() for text in texts)
        return (
            " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
            or "'none'"
        )

    return (
        f"default-src 'none'; script-src {hashes(scripts)}; style-src {hashes(styles)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
