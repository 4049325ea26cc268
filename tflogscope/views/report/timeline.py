"""The timeline's place on the page, and the names of its rows."""

from __future__ import annotations

from collections import Counter

import polars as pl

from tflogscope.model.slices.preparations import MODE, SHORT_KINDS
from tflogscope.model.slices.slices import Slices
from tflogscope.views.markup import Markup, element, joined
from tflogscope.views.report.pieces import filled

# id of the class in assets/rows.js, what it is called; {}: whose kernels
CLASSES = (
    ("eager", "eager ops"),
    ("eager-onednn", "eager, on {} kernels"),
    ("call", "function calls"),
    ("graph", "in graphs"),
    ("onednn", "in graphs, rewritten to {} kernels"),
    ("data", "tf.data"),
    ("folding", "constant folding"),
    ("plumbing", "data transfer"),
    ("primitive", "primitives"),
    ("preparation", "tracing, instantiation, compilation"),
)


def timeline(still: Markup, kernels: str, idle: list[str]) -> Markup:
    """The section; scripts bring it to life, without them `still` is shown.

    `idle`: what is said of gaps in which nothing ran, whose numbers are above the picture.
    """
    places = {"classes": _classes(kernels), "idle": joined(_idle(idle)), "still": still}
    return filled("timeline", **places)


def _idle(idle: list[str]) -> Markup | None:
    if not idle:
        return None
    items = (element("li", text) for text in idle)
    return element(
        "details",
        element("summary", "Longest idle gaps, as numbered above"),
        element("ol", *items),
        id="idle",
    )


def _classes(kernels: str) -> Markup:
    """The colours; a click hides what has one. Each box is its own swatch."""
    boxes = (
        element(
            "label",
            element("input", type="checkbox", checked=True, data_class=id_, class_=f"swatch {id_}"),
            name.format(kernels),
        )
        for id_, name in CLASSES
    )
    return element("div", *boxes, role="group", aria_label="Show", class_="live", id="classes")


# ---- short names for rows: what a thread does ----------------------------------------------------
# No record names a thread. What it runs says what it is, so all names but those of tracing, graph
# passes and XLA are inferred.

_WITHOUT_THREADS = {"eager ops and calls": "eager", "in graphs": "graphs"}


def track_names(slices: Slices) -> tuple[list[str], list[int]]:
    """The name of each track, and the tracks from top to bottom.

    The main thread comes first, then tracing, graph passes and XLA's compilations, then the other
    threads. Tracks of one thread have one name.
    """
    runs = _runs(slices)
    first = runs.filter("eager").sort("begin")["thread"]
    main = first[0] if len(first) else None
    numbers = Counter[str]()
    of_threads: dict[int, str] = {}
    for row in runs.group_by("thread", maintain_order=True).agg(pl.all().sum()).to_dicts():
        of_threads[row["thread"]] = _numbered(_of_thread(row, main), numbers)
    kinds = dict(_kinds(slices).rows())
    names = []
    for track, name, thread in slices.tracks.select("track", "name", "thread").rows():
        if thread is None:
            plain = name.partition(" · ")[0]
            title = kinds.get(track) or _WITHOUT_THREADS.get(plain, plain)
        else:
            title = of_threads.get(thread, "oneDNN")
        names.append(title)
    ranks = {"main": 0, "eager": 0} | dict.fromkeys(SHORT_KINDS.values(), 1)
    order = sorted(range(len(names)), key=lambda track: ranks.get(names[track], 2))
    return names, order


def _runs(slices: Slices) -> pl.DataFrame:
    """What ran on each track that has a thread: thread, begin, eager, graph, data (counts)."""
    is_eager = pl.col("mode") == "eager"
    is_data = (pl.col("cause") == "dataset-function") | (pl.col("flavour") == "dataset")
    kinds = slices.texts.select(
        eager=is_eager, graph=pl.col("mode") == "graph", data=is_data.fill_null(value=False)
    )
    frame = slices.frame.filter(pl.col("text").is_not_null())
    ran = frame.select("track", begin="begin_ns").hstack(kinds[frame["text"]])
    threads = slices.tracks.select("track", "thread").drop_nulls()
    per = ran.group_by("track", "eager").agg(
        pl.col("begin").min(), pl.col("graph", "data").sum(), count=pl.len()
    )
    return per.join(threads, on="track").sort("track")


def _of_thread(row: dict[str, int], main: int | None) -> str:
    if row["thread"] == main:
        return "main"
    if 2 * row["data"] > row["count"]:
        return "tf.data"
    return "inter-op" if row["graph"] else "Python"


def _numbered(name: str, numbers: Counter[str]) -> str:
    if name == "main":
        return name
    numbers[name] += 1
    return f"{name} {numbers[name]}"


def _kinds(slices: Slices) -> pl.DataFrame:
    """What the tracks beside threads hold: track, name."""
    frame = slices.frame.filter(pl.col("text").is_not_null())
    texts = slices.texts.select("mode", "kind")[frame["text"]]
    beside = frame.select("track").hstack(texts).filter(mode=MODE)
    return beside.group_by("track").agg(pl.col("kind").first().replace(SHORT_KINDS))
