"""Makes the pictures of docs/tour.md anew, from sample_logs/.

`python tools/screenshots.py` needs Chromium and what the tests need (`pip install -e '.[test]'`).
Look at each picture before it is committed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import tflogscope
from tflogscope.version import MADE_BY
from tflogscope.views.report.page import report_page

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "tour"
KERAS = "keras_fit_mlp__tf2.13.1__vlog2"
THREADS = "function_mlp__tf2.13.1__vlog2__tid"
IN_PYTHON = "../tests/sentences/logs/map_in_python__tf2.13.1__record"
PROGRAM = ROOT / "tests" / "sentences" / "programs" / "map_in_python.py"
LINES = "../tests/lines/program__tf2.13.1"
SIZE = {"width": 1180, "height": 760}


def at_section(page: Page, id_: str, height: int) -> dict[str, float]:
    """Where a section of the page is, so much of it."""
    box = page.locator(f"#{id_}").bounding_box()
    top = 0.0 if box is None else box["y"] + page.evaluate("scrollY")
    return {"x": 0, "y": top, "width": SIZE["width"], "height": height}


def first_screen(page: Page) -> dict[str, float]:
    """The top of the page: verdict, figures, timeline, findings."""
    page.evaluate("scrollTo(0, 0)")
    box = page.locator("#findings").bounding_box() or {"y": 0, "height": SIZE["height"]}
    height = int(box["y"] + box["height"]) + 12
    return {"x": 0, "y": 0, "width": SIZE["width"], "height": height}


def telephone(page: Page) -> dict[str, float]:
    """The same on a screen of 400 pixels, in the dark."""
    page.set_viewport_size({"width": 400, "height": 900})
    page.reload()
    page.wait_for_selector("html[data-state=ready]", state="attached")
    page.click("#theme")
    page.wait_for_timeout(300)
    page.set_viewport_size({"width": 400, "height": 900})
    return {"x": 0, "y": 0, "width": 400, "height": 1200}


def timeline(page: Page) -> dict[str, float]:
    """The first step of a training: its call, its ops, a rewritten one chosen."""
    page.fill("#search", "31724")
    page.press("#search", "Enter")
    page.fill("#search", "")
    page.evaluate(
        "const { slices } = Report.data; const at = Report.picture.chosen;"
        "Report.picture.setView(slices.begin[at] - 3e6, slices.begin[at] + 32e6)"
    )
    page.wait_for_timeout(300)
    page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
    return {"x": 0, "y": 0, "width": SIZE["width"], "height": SIZE["height"]}


def by_function(page: Page) -> dict[str, float]:
    """Rows by function, in the dark; what a search did not find is faint."""
    page.click("#theme")
    page.select_option("#rows", "function")
    page.fill("#search", "_Mkl")
    page.wait_for_selector("#matches h3")
    page.evaluate("Report.picture.setView(76e6, 112e6)")
    page.wait_for_timeout(300)
    return at_section(page, "timeline", 620)


def by_line(page: Page) -> dict[str, float]:
    """Time by line of the program."""
    page.locator("#icicle-rows .frame").nth(1).hover()
    height = page.locator("#icicle-rows").bounding_box() or {"height": 300}
    return at_section(page, "icicle", int(height["height"]) + 160)


def ops(page: Page) -> dict[str, float]:
    """The ops table, filtered."""
    page.get_by_label("Filter: Ops by mode, kernel and rewrite").fill("graph mul")
    return at_section(page, "ops", 560)


def onednn(page: Page) -> dict[str, float]:
    """From traced op to oneDNN."""
    return at_section(page, "onednn", 700)


# Name of the picture: the log, and what is done before it is taken.
PICTURES: dict[str, tuple[str, Callable[[Page], dict[str, float]]]] = {
    "first-screen": (IN_PYTHON, first_screen),
    "timeline": (KERAS, timeline),
    "by-function": (THREADS, by_function),
    "by-line": (LINES, by_line),
    "ops": (KERAS, ops),
    "onednn": (KERAS, onednn),
    "telephone": (IN_PYTHON, telephone),  # the last: it leaves the window narrow
}


def notebook(page: Page, folder: Path) -> None:
    """What a notebook shows of a run, in a page of its own."""
    run = tflogscope.open_log(f"sample_logs/{KERAS}.log.zst")
    path = folder / "notebook.html"
    path.write_text(
        '<!DOCTYPE html><meta charset="utf-8"><body style="font: 14px system-ui"><div>'
        + (run._repr_html_() or "")
        + "</div>"
    )
    page.set_viewport_size({"width": SIZE["width"], "height": SIZE["height"]})
    page.goto(path.as_uri())
    page.locator("body > div").screenshot(path=FOLDER / "notebook.png")


def make() -> None:
    """Take all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": SIZE["width"], "height": SIZE["height"]})
        os.utime(shutil.copy(PROGRAM, made), (0, 0))  # older than its recording
        for name, (log, prepare) in PICTURES.items():
            run = tflogscope.open_log(ROOT / "sample_logs" / f"{log}.log.zst")
            path = Path(made) / f"{name}.html"
            with contextlib.chdir(made):
                path.write_text(report_page(run, MADE_BY))
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-state=ready]", state="attached")
            clip = prepare(page)
            target = FOLDER / f"{name}.png"
            page.screenshot(path=target, full_page=True, clip=clip)  # type: ignore[arg-type]
            print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")
        notebook(page, Path(made))
        browser.close()


if __name__ == "__main__":
    make()
