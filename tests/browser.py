"""A headless Chromium, for tests of what a page does; skipped where there is none."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]  # as root there is no sandbox


READY = "html[data-state=ready]"  # of a report


def missing(what: str) -> None:
    """Skip, unless everything has to be installed."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, driven by playwright."""
    if CHROMIUM is None:
        missing("Chromium is not installed")
    for module in ("playwright", "axe_playwright_python"):
        if importlib.util.find_spec(module) is None:
            missing(f"{module} is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Complaints(list[str]):
    """What the page printed on its console, and the requests it made."""

    def listen(self, page: Page) -> None:
        page.on("console", lambda message: self.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: None if request.url.startswith("file:") else self.append(request.url),
        )


def opened_page(browser: Browser, path: Path, complaints: Complaints) -> Page:
    """The page in a window of its own, once its script has started."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    complaints.listen(page)
    page.goto(path.as_uri())
    page.wait_for_selector(READY, state="attached")  # the page forbids eval, so no function
    return page
