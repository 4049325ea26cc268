"""The report in a real browser: it opens, zooms, searches, filters, and agrees with the tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import polars as pl
import pytest

import tflogscope
from tests.browser import Complaints, chromium, opened_page
from tests.conftest import Open
from tests.makelog import Log
from tests.samples import page_of, raw_log, run_of
from tflogscope.api import LogRun as Run
from tflogscope.cli.main import main
from tflogscope.model.common.figures import duration
from tflogscope.model.pictures.activity import read_activity
from tflogscope.views.report.comparison import comparison_page
from tflogscope.views.report.page import report_page
from tflogscope.views.timeline import gap_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.thorough  # a browser is started for each page

KERAS = "keras_fit_mlp__tf2.13.1__vlog2"
TORCH = "torch_mlp__torch2.13.0__vlog2"
# A Keras fit, oneDNN alone, threads, no functions, no durations, a failure.
UNLIKE = (
    KERAS,
    TORCH,
    "python_threads__tf2.21.0__vlog2",
    "tf1_session__tf2.13.1__vlog2",
    "cnn_fit__tf2.13.1__vlog0__vmodule",
    "error__tf2.13.1__vlog2",
)
HOSTILE = "</script><img/src=x/onerror=alert(1)>"
# What the page says of the chosen slice, by heading.
DETAILS = """() => Object.fromEntries([...document.querySelectorAll('#details > dl dt')]
    .map((dt) => [dt.textContent, dt.nextSibling.textContent]))"""
FIRST_OF_EACH_CLASS = """() => [...new Set(Report.data.slices.class)]
    .map((kind) => Report.data.slices.class.indexOf(kind))"""
# Rows of a table are alike; axe looks at each of their cells.
FEWER_ROWS = """() => document.querySelectorAll('tbody tr:nth-child(n + 6)')
    .forEach((row) => row.remove())"""
HEIGHTS = """() => [...document.querySelectorAll('header, h1, h2, h3, dt, .figures')]
    .map((part) => part.getBoundingClientRect().height)"""
DRAWN = "Report.picture.rows.reduce((sum, row) => sum + row.items.length, 0)"
# The middle of a slice on the canvas.
PLACE = """(at) => {
    const { picture, data } = Report;
    picture.show(at, true);
    picture.draw();
    const { number } = picture.placeOf(at);
    const box = picture.canvas.getBoundingClientRect();
    const x = picture.x((data.slices.begin[at] + data.slices.end[at]) / 2);
    return [box.x + x, box.y + 22 + number * 18 + 9 - picture.scroll.scrollTop];
}"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """The browser has no complaint by the end of a test."""
    found = Complaints()
    yield found
    assert not found


def written(name: str, folder: Path) -> Path:
    path = folder / f"{name}.html"
    path.write_text(page_of(name))
    return path


@pytest.fixture(scope="module")
def asked(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One page for tests that ask it and search in it: to open one takes longer than they do."""
    complaints = Complaints()
    page = opened_page(browser, written(KERAS, tmp_path_factory.mktemp("asked")), complaints)
    yield page
    page.context.close()
    assert not complaints


@pytest.fixture
def keras(browser: Browser, complaints: Complaints, tmp_path: Path) -> Iterator[Page]:
    """A page that a test may leave in any state."""
    page = opened_page(browser, written(KERAS, tmp_path), complaints)
    yield page
    page.context.close()


def search(page: Page, text: str) -> None:
    """Search, and choose the first that is found."""
    page.fill("#search", text)
    page.press("#search", "Enter")


def view(page: Page) -> tuple[float, float]:
    found = page.evaluate("[Report.picture.view.from, Report.picture.view.to]")
    return found[0], found[1]


# ---- unlike logs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNLIKE)
def test_the_page_of_a_log_works(
    name: str, browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    run = run_of(name)
    page = opened_page(browser, written(name, tmp_path), complaints)
    assert page.evaluate("Report.data.slices.count") == run.drawn.frame.height
    first = page.evaluate(FIRST_OF_EACH_CLASS)
    page.locator("#timeline").scroll_into_view_if_needed()
    for at in first:
        x, y = page.evaluate(PLACE, at)
        page.mouse.click(x, y)
        chosen = page.evaluate("Report.picture.chosen")
        assert chosen >= 0
        agrees(page.evaluate(DETAILS), name, chosen)
    for rows in ("function", "thread"):
        page.select_option("#rows", rows)
        assert page.evaluate(DRAWN) == run.drawn.frame.height
    page.context.close()


def step_of(run: Run, call: int | None) -> str | None:
    """Which call of its function it is, as the program counts."""
    calls = run.timeline.filter(kind="call")
    own = calls.filter(pl.col("call") == call) if call is not None else calls.head(0)
    if own.is_empty():
        return None
    alike = calls.filter(pl.col("function").eq_missing(own["function"].first())).sort("start")
    number = alike["call"].to_list().index(call) + 1
    return f"{number:,} of {alike.height:,} calls of {own['function'].item()}"


def agrees(said: dict[str, str], name: str, at: int) -> None:
    """The details of a slice are those of the run's tables."""
    run = run_of(name)
    slice_ = run.drawn.frame.row(at, named=True)
    if slice_["primitive"] is not None:
        line = run.primitives.row(slice_["primitive"], named=True)
        assert said["Primitive"] == line["primitive"]
        assert said.get("Implementation") == line["implementation"]
        assert said.get("Problem") == line["problem"]
        assert said["Line"] == f"{line['line']:,}"
        assert said["Took"] == duration(round(line["duration_us"], 3))
        return
    if slice_["row"] is None:
        assert said["Mode"].startswith("preparation, ")
        assert said["As printed"] == duration((slice_["end_ns"] - slice_["begin_ns"]) / 1000)
        return
    row = run.timeline.row(slice_["row"], named=True)
    assert said["Mode"] == f"{row['mode']}, {row['kind']}"
    for key in ("op", "kernel", "node", "status"):
        assert said.get(key.title()) == row[key], key
    assert (said.get("Cause") or "").split(":")[0] == (row["cause"] or "")
    uid = "" if row["function_uid"] is None else f" {row['function_uid']}"
    assert said.get("Function") == (None if row["function"] is None else row["function"] + uid)
    assert said.get("Step") == step_of(run, row["call"])
    if run.slices.clock == "time" and row["duration_us"] is not None:
        assert said["As printed"] == duration(row["duration_us"])
        assert said["Began"].startswith(str(row["start"])[:19])
    last = "" if row["end_line"] is None else f" to {row['end_line']:,}"
    assert said["Lines"] == f"{row['line']:,}{last}"
    assert ("Rewrite" in said) == (row["rewrite"] != "none")


@pytest.mark.parametrize("name", [KERAS, TORCH])
def test_people_with_other_senses_can_use_it(
    name: str, browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    page = opened_page(browser, written(name, tmp_path), complaints)
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page.evaluate("Report.choose(0)")
    page.fill("#search", "a")
    page.wait_for_selector("#matches h3")
    page.evaluate(FEWER_ROWS)
    found = Axe().run(page).response
    assert len(found["passes"]) > 20
    page.emulate_media(color_scheme="dark")
    dark = Axe().run(page, options={"runOnly": ["color-contrast"]}).response
    assert [each["id"] for each in dark["passes"]] == ["color-contrast"]
    violations = found["violations"] + dark["violations"]
    assert [(each["id"], each["impact"]) for each in violations] == []
    page.context.close()


@pytest.mark.parametrize(
    ("name", "width"),
    [("sleeping_callback__tf2.22.0rc0__record", 400), ("ends_key__tf2.20.0__record", 1400)],
)
def test_what_record_wrote_is_not_past_the_margin(
    name: str, width: int, browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    """Paths of TensorFlow's own functions and the settings are long, and have no spaces."""
    page = opened_page(browser, written(name, tmp_path), complaints)
    page.set_viewport_size({"width": width, "height": 900})
    # What is drawn follows the window's width in its own time.
    page.wait_for_function("width => document.documentElement.scrollWidth === width", arg=width)
    page.context.close()


@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_is_past_the_margin(width: int, asked: Page) -> None:
    before = asked.viewport_size
    assert before
    asked.set_viewport_size({"width": width, "height": 900})
    asked.evaluate("scrollTo(0, 0)")
    asked.wait_for_timeout(200)
    assert asked.evaluate("document.documentElement.scrollWidth") == width
    wide = "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    assert asked.evaluate(f"{wide}.length") == asked.locator(".sideways").count()
    if width == 1400:  # the first screen
        last = asked.locator("#findings li").first.bounding_box()
        assert last
        assert last["y"] + last["height"] <= 900
    else:
        picture = asked.locator(".picture").bounding_box()
        assert picture
        assert picture["y"] + picture["height"] <= 900
        right = "e => e.getBoundingClientRect().right"
        spans = "[...document.querySelectorAll('caption span')]"
        assert asked.evaluate(f"Math.max(...{spans}.map({right}))") <= width
    asked.set_viewport_size(before)


def test_what_a_search_found_is_said_beside_it(keras: Page) -> None:
    turn = keras.locator("#search-back, #search-next")
    assert [each.is_visible() for each in turn.all()] == [False, False]
    search(keras, "xla compilation")
    assert keras.locator("#found").text_content() == "0 matches"
    assert [each.is_visible() for each in turn.all()] == [True, True]


@pytest.mark.parametrize("width", [12, 20, 47, 90])
def test_a_name_that_is_cut_fits(width: int, asked: Page) -> None:
    context = "document.getElementById('lanes').getContext('2d')"
    for name in ("tracing: train_function 5932", "eager ops and calls", "WWWWiiiiiiii"):
        cut = f"(c => c.measureText(Report.fitted(c, '{name}', {width})).width)({context})"
        assert asked.evaluate(cut) <= width


def test_idle_gaps_have_the_numbers_of_the_terminal(asked: Page) -> None:
    gaps = read_activity(run_of(KERAS), None, lambda _: 100).gaps
    said = [gap_text(gap, "time") for gap in gaps]
    assert asked.locator("#idle li").all_text_contents() == said
    sizes = asked.evaluate("Report.data.gaps.map(([begin, end]) => (end - begin) / 1000)")
    assert sizes == [gap.duration_us for gap in gaps]


# ---- the timeline --------------------------------------------------------------------------------


def test_it_zooms_and_pans_by_keys_wheel_buttons_and_pointer(keras: Page) -> None:
    whole = view(keras)
    keras.focus("#lanes")
    keras.keyboard.press("+")
    begin, end = view(keras)
    assert end - begin < 0.7 * (whole[1] - whole[0])
    keras.keyboard.press("ArrowRight")
    assert view(keras)[0] > begin
    keras.keyboard.press("0")
    assert view(keras) == whole
    keras.click("#zoom-in")
    assert view(keras) != whole
    keras.click("#zoom-all")
    assert view(keras) == whole
    box = keras.locator("#lanes").bounding_box()
    assert box
    keras.mouse.move(box["x"] + 600, box["y"] + 40)
    keras.keyboard.down("Control")
    keras.mouse.wheel(0, -400)
    keras.keyboard.up("Control")
    for _ in range(50):  # the event may come later
        if view(keras)[1] - view(keras)[0] < 0.6 * (whole[1] - whole[0]):
            break
        keras.wait_for_timeout(50)
    else:
        pytest.fail("the wheel does not zoom")
    before = view(keras)
    keras.mouse.down()
    keras.mouse.move(box["x"] + 400, box["y"] + 40, steps=4)
    keras.mouse.up()
    assert view(keras)[0] > before[0]


def test_the_keyboard_reaches_every_slice_of_a_row(asked: Page) -> None:
    asked.evaluate("Report.choose(Report.data.slices.class.indexOf(4))")
    asked.focus("#lanes")
    first = asked.evaluate("Report.picture.chosen")
    asked.keyboard.press("n")
    assert asked.evaluate("Report.picture.chosen") > first
    asked.keyboard.press("p")
    assert asked.evaluate("Report.picture.chosen") == first
    asked.keyboard.press("ArrowDown")
    assert asked.evaluate("Report.data.slices.text[Report.picture.chosen]") == -1  # its primitive
    asked.keyboard.press("/")
    assert asked.evaluate("document.activeElement.id") == "search"


@pytest.mark.parametrize(
    "text", ["MatMul", "_mklnativefused", "train_function", "inner_product", "instant"]
)
def test_a_search_finds_what_the_tables_have(text: str, asked: Page) -> None:
    search(asked, text)
    run = run_of(KERAS)
    columns = ["op", "kernel", "node", "function", "rewrite", "cause"]

    def having(frame: pl.DataFrame, names: list[str]) -> int:
        hits = [
            pl.col(name).str.to_lowercase().str.contains(text.lower(), literal=True)
            for name in names
        ]
        return frame.filter(pl.any_horizontal(hit.fill_null(value=False) for hit in hits)).height

    expected = having(run.timeline.filter(pl.col("status") != "dead"), columns)
    lines = run.primitives.filter(pl.col("event") == "exec")
    expected += having(lines, ["primitive", "implementation", "problem"])
    prepared = run.drawn.texts.filter(pl.col("mode") == "preparation")
    expected += having(prepared, ["op", "function", "kind"])
    assert asked.text_content("#matches h3") == f"{expected:,} matches"
    assert asked.evaluate("Report.picture.matches[Report.picture.chosen]") == 1


def test_a_search_for_a_line_goes_there(asked: Page) -> None:
    search(asked, "32098")
    assert asked.evaluate(DETAILS)["Lines"] == "32,098 to 32,103"
    work = run_of(KERAS).timeline.filter(line=32098)["work_us"][0]
    said = asked.evaluate(f"Report.duration(Math.round({work} * 1000) / 1000)")
    assert asked.evaluate(DETAILS)["Without logging"] == said


def test_a_link_to_a_line_leads_into_the_timeline(keras: Page) -> None:
    finding = run_of(KERAS).findings.row(0, named=True)
    keras.click("#findings > details > summary")  # a note
    keras.click("#findings li summary")
    link = keras.locator(f"#findings a[href='#line-{finding['line']}']").first
    link.scroll_into_view_if_needed()
    before = keras.evaluate("scrollY")
    link.click()
    assert keras.evaluate(DETAILS)["Lines"].startswith(f"{finding['line']:,}")
    assert keras.evaluate("document.activeElement.id") == "details"
    raw = raw_log(KERAS).decode().splitlines()[finding["line"] - 1]
    assert raw[:600] in " ".join(keras.locator("#drawer pre").all_text_contents())
    assert keras.evaluate("scrollY") == before
    keras.keyboard.press("Escape")
    assert not keras.is_visible("#drawer")
    assert keras.evaluate("document.activeElement.hash") == f"#line-{finding['line']}"


def test_classes_can_be_hidden_and_rows_chosen(keras: Page) -> None:
    every = keras.evaluate(DRAWN)
    primitives = run_of(KERAS).primitives.filter(pl.col("event") == "exec").height
    keras.uncheck("#classes input[data-class=primitive]")
    assert keras.evaluate(DRAWN) == every - primitives
    keras.select_option("#rows", "function")
    assert keras.evaluate(DRAWN) == every - primitives
    names = keras.evaluate("Report.picture.rows.map((row) => row.name)")
    assert {"eager ops", "train_function 809", "test_function 995"} <= set(names)


def test_what_a_rewritten_op_ran_is_told(asked: Page) -> None:
    search(asked, "32098")
    said = asked.evaluate(DETAILS)
    assert said["Rewrite"].startswith("MatMul → _MklMatMul by layout pass, on line 30,776")
    (row,) = asked.locator("#details table tbody tr").all()
    assert (row.text_content() or "").startswith("gemm_api")
    asked.click("#details dl button.link")  # its call
    assert asked.evaluate(DETAILS)["Mode"] == "eager, call"


# ---- tables --------------------------------------------------------------------------------------


def test_the_ops_table_sorts_filters_and_copies(asked: Page) -> None:
    ops = run_of(KERAS).ops

    def column(number: int) -> list[str]:
        return [
            cell.text_content() or ""
            for cell in asked.locator(f"#ops-table tbody tr:visible td:nth-child({number})").all()
        ]

    asked.click("#ops-table th:nth-child(6) button")
    assert asked.get_attribute("#ops-table th:nth-child(6)", "aria-sort") == "descending"
    runs = [int(cell.replace(",", "")) for cell in column(6)]
    assert runs == sorted(ops["executions"].to_list(), reverse=True)
    asked.get_by_label("Filter: Ops by mode, kernel and rewrite").fill("_mkl layout")
    assert set(column(5)) == {"layout"}
    text = asked.evaluate("Report.csv(document.getElementById('ops-table'))")
    rows = list(csv.DictReader(io.StringIO(text)))
    expected: list[dict[str, Any]] = ops.filter(pl.col("rewrite") == "layout").to_dicts()
    found = {(row["Kernel"], row["Runs"], row["Printed total"], row["First line"]) for row in rows}
    assert found == {
        (row["kernel"], str(row["executions"]), str(row["total_us"]), str(row["first_line"]))
        for row in expected
    }


# ---- two runs ------------------------------------------------------------------------------------


def test_the_page_of_two_runs_works(
    browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    names = ("retrace__tf2.20.0__vlog2", "function_mlp__tf2.20.0__vlog2")
    before, after = map(run_of, names)
    path = tmp_path / "diff.html"
    path.write_text(comparison_page(before, after, before.diff(after)))
    page = opened_page(browser, path, complaints)
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(FEWER_ROWS)
    assert [(each["id"], each["impact"]) for each in Axe().run(page).response["violations"]] == []
    page.click("#ops-table th:nth-child(2) button")
    assert page.get_attribute("#ops-table th:nth-child(2)", "aria-sort") == "descending"
    for width in (400, 2000):
        page.set_viewport_size({"width": width, "height": 900})
        # What is drawn follows the window's width in its own time.
    page.wait_for_function("width => document.documentElement.scrollWidth === width", arg=width)
    page.context.close()


# ---- hostile -------------------------------------------------------------------------------------


def test_a_hostile_op_is_shown_as_it_is(
    browser: Browser, complaints: Complaints, opened: Open, tmp_path: Path
) -> None:
    log = Log()
    log.executing(HOSTILE)
    log.executing("=1+1")
    path = tmp_path / "hostile.html"
    path.write_text(report_page(opened(log), "tests 1"))
    page = opened_page(browser, path, complaints)
    page.evaluate("Report.choose(0)")
    assert page.text_content("#details h3") == HOSTILE
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert HOSTILE in page.locator("#ops-table td").all_text_contents()
    assert "'=1+1" in page.evaluate("Report.csv(document.getElementById('ops-table'))")
    page.context.close()


def hostile_log(names: str, rank: int) -> str:
    """A record of a run in which everything that has a name has this one."""
    header = {
        "versions": dict.fromkeys(("tensorflow", "python", names), names),
        "command": ["python", names],
        "environment": {"RANK": str(rank), "TF_XLA_FLAGS": f"{names}{rank}", f"KMP_{names}": names},
        "started": "2026-11-21T03:39:59.000+01:00",
        **dict.fromkeys(("system", "machine", "processor", "host", names), names),
    }
    log = Log()
    said = json.dumps(header, separators=(",", ":")).replace(" ", "\\u0020")
    log.raw(f"# tflogscope record {said}")
    log.executing(names)
    function = f"__inference_{names}_9"
    for _ in range(3):
        log.instantiating(function)
        log.entering(function)
        log.exiting(function)
    return log.text()


def test_a_hostile_store_is_shown_as_it_is(
    browser: Browser, complaints: Complaints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = (HOSTILE, "\"'><script>alert(1)</script>javascript:alert(2)", "n" * 10_000, "=1+1")
    logs = [Path(f"{name.replace('/', '')[:99]}{rank}.log") for name in names for rank in range(2)]
    for number, path in enumerate(logs):
        path.write_text(hostile_log(names[number // 2], number % 2))
    assert main(["collect", *(f"./{path}" for path in logs), "-o", "store"]) == 0
    for number, path in enumerate(sorted(Path("store/runs").iterdir())):
        name = names[number % len(names)]
        fields = dict.fromkeys(("host", "build", "onednn", "commit", "error"), name)
        fields["state"] = "done" if number else "failed"
        fields["settings"] = json.dumps({name: name, "other": number})
        row = pl.read_parquet(path, hive_partitioning=False).with_columns(
            pl.lit(value).alias(field) for field, value in fields.items()
        )
        row.write_parquet(path)
    assert main(["report", "store", "-o", "all.html"]) == 0
    titles = {Path("all.html"): "tflogscope store: store"}
    for path in Path("all.html.runs").iterdir():
        titles[path] = f"tflogscope run: {unquote(path.stem)}"
    assert len(titles) == len(logs)
    for number, path in enumerate(logs[::2]):
        titles[Path(f"log{number}.html")] = f"tflogscope report: ./{path}"
        assert main(["report", f"./{path}", "-o", f"log{number}.html"]) == 0
    for path, title in titles.items():
        page = opened_page(browser, path.resolve(), complaints)
        assert page.title() == title
        assert page.locator("img, main script, iframe, [onerror]").count() == 0
        for link in page.evaluate("[...document.links].map((link) => link.href)"):
            place = urlsplit(link)
            assert place.scheme == "file"
            assert Path(unquote(place.path)).is_file()
        for width in (400, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_function(
                "width => document.documentElement.scrollWidth === width", arg=width, timeout=5000
            )
        assert max(page.evaluate(HEIGHTS)) < 400
        page.context.close()


def test_durations_are_written_as_everywhere(asked: Page) -> None:
    values = [
        0,
        0.5,
        1,
        9.994,
        9.996,
        99.94,
        99.96,
        999.4,
        999.6,
        12345,
        59.9e6,
        61e6,
        3.7e9,
        1e12,
        -3,
    ]
    assert asked.evaluate("(values) => values.map(Report.duration)", values) == [
        duration(value) for value in values
    ]


@pytest.mark.parametrize(
    ("ticks", "step", "names"),
    [
        ((-2e8, 0, 12e8), 2e8, ["-0.2 s", "0.0 s", "1.2 s"]),
        ((0, 5e7), 5e7, ["0 ms", "50 ms"]),
        ((1.4e9, 1.45e9), 5e7, ["1.40 s", "1.45 s"]),
        ((1_449_500_000, 1_449_501_000), 1000, ["1.449500 s", "+1 µs"]),
        ((0, 150e9), 150e9, ["0:00 min", "2:30 min"]),
        ((3600e9, 5400e9), 1800e9, ["1:00 h", "1:30 h"]),
    ],
)
def test_an_axis_has_names_for_people(
    ticks: tuple[float, ...], step: float, names: list[str], asked: Page
) -> None:
    assert (
        asked.evaluate("([ticks, step]) => Report.tickNames(ticks, step)", [ticks, step]) == names
    )


# ---- by line of the program ----------------------------------------------------------------------

FRAMES = "[...document.querySelectorAll('#icicle-rows .frame')].map((box) => box.node.name)"


def test_the_icicle_holds_all_time_zooms_and_lights_up(
    browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    path = tmp_path / "lines.html"
    run = tflogscope.open_log("tests/lines/program__tf2.13.1.log.zst")
    path.write_text(report_page(run, "tests 1"))
    page = opened_page(browser, path, complaints)
    every = page.evaluate(FRAMES)
    assert every[0] == "all"
    assert "program.py:55 <module>" in every
    stacks = page.evaluate("Report.data.stacks.us.reduce((sum, us) => sum + us, 0)")
    assert page.evaluate("Report.icicle.root.us") == pytest.approx(stacks)
    page.locator("#icicle-rows .frame").nth(1).click()
    zoomed = page.locator("#icicle-rows .frame").nth(1).bounding_box()
    whole = page.locator("#icicle-rows").bounding_box()
    assert zoomed
    assert whole
    assert zoomed["width"] >= whole["width"] - 1
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.node.depth") == 2
    page.keyboard.press("Escape")
    assert page.evaluate(FRAMES) == every
    page.fill("#icicle-search", "program.py:55")
    assert (page.text_content("#icicle-found") or "").endswith("% of all")
    lit = page.locator("#icicle-rows .frame:not(.dim)").all_text_contents()
    assert lit
    assert all("program.py:55" in each for each in lit if each)
    page.context.close()


def test_print_shows_the_still_picture_and_whole_tables(keras: Page) -> None:
    keras.emulate_media(media="print")
    assert keras.is_visible(".still svg")
    assert not keras.is_visible("#lanes")
    assert (
        keras.evaluate("getComputedStyle(document.querySelector('.wide')).overflowY") == "visible"
    )


# ---- what is said of a slice, and what it may cover ----------------------------------------------

COVERED = (
    """([x, y]) => document.getElementById('drawer').contains(document.elementFromPoint(x, y))"""
)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (400, 800)])
def test_the_drawer_does_not_cover_what_was_clicked(
    width: int, height: int, browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    page = opened_page(browser, written(KERAS, tmp_path), complaints)
    page.set_viewport_size({"width": width, "height": height})
    page.locator("#lanes").scroll_into_view_if_needed()
    box = page.locator("#lanes").bounding_box()
    assert box
    clicked = 0
    for share in (0.3, 0.6, 0.9, 0.98, 0.5):
        for row in range(1, 6):
            point = [box["x"] + box["width"] * share, box["y"] + 22 + row * 18 - 9]
            if page.evaluate(COVERED, point):
                page.keyboard.press("Escape")
            page.mouse.click(*point)
            clicked += page.is_visible("#drawer")
            assert not page.evaluate(COVERED, point)
    assert clicked > 5
    for link in page.locator("#ops-table a.line").all()[:3]:
        page.keyboard.press("Escape")
        link.scroll_into_view_if_needed()
        link.click()
        place = link.bounding_box()
        assert place
        assert not page.evaluate(COVERED, [place["x"] + 1, place["y"] + place["height"] / 2])
    page.context.close()


def test_a_double_click_zooms_everywhere(keras: Page) -> None:
    keras.evaluate("document.getElementById('lanes').scrollIntoView({ block: 'center' })")
    for at in keras.evaluate(FIRST_OF_EACH_CLASS):
        keras.keyboard.press("Escape")
        keras.click("#zoom-all")
        whole = view(keras)
        keras.mouse.dblclick(*keras.evaluate("(at) => Report.picture.pointOf(at)", at))
        assert view(keras)[1] - view(keras)[0] < 0.7 * (whole[1] - whole[0])
    keras.keyboard.press("Escape")
    keras.click("#zoom-all")
    whole = view(keras)
    keras.dblclick("#overview", position={"x": 300, "y": 20})
    assert view(keras)[1] - view(keras)[0] < 0.7 * (whole[1] - whole[0])


def test_a_step_is_numbered_as_the_program_counts(keras: Page) -> None:
    calls = run_of(KERAS).timeline.filter(kind="call", function="train_function")
    third = calls.row(2, named=True)
    for line in (third["line"], third["line"] + 1):  # the call, and what runs in it
        at = keras.evaluate("(line) => Report.ofLine(Report.data, line)", line)
        keras.evaluate("(at) => Report.choose(at)", at)
        said = keras.evaluate(DETAILS)
        assert said["Step"] == f"3 of {calls.height} calls of train_function"
        assert "Call" not in said


def test_a_crash_is_on_the_timeline(
    browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    name = "ends_key__tf2.20.0__record"
    page = opened_page(browser, written(name, tmp_path), complaints)
    crash = page.evaluate("Report.data.crash")
    assert crash["name"] == "crashed: KeyError"
    last = run_of(name).timeline["start"].max()
    origin = run_of(name).drawn.origin
    assert isinstance(last, datetime)
    assert origin is not None
    assert crash["at"] / 1000 + origin >= last.replace(tzinfo=UTC).timestamp() * 1e6
    # The line is red, and its name is on the axis.
    red = page.evaluate(
        """() => { const { picture } = Report; picture.draw();
        const canvas = picture.canvas, context = canvas.getContext('2d');
        const x = picture.x(Math.min(Report.data.crash.at, Report.data.slices.last)) - 1.5;
        return [...context.getImageData(x * devicePixelRatio, 60, 1, 1).data]; }"""
    )
    assert red[0] > 100 > red[1]
    page.context.close()
    healthy = opened_page(browser, written(KERAS, tmp_path), complaints)
    assert healthy.evaluate("Report.data.crash") is None
    healthy.context.close()
