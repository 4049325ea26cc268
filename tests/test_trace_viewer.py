"""Traces in a real viewer: speedscope, in a Chromium without a window.

speedscope comes from the npm registry (`npm pack speedscope`); TFLOGSCOPE_SPEEDSCOPE names the
folder with its index.html.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser import CHROMIUM, missing
from tests.samples import run_of
from tflogscope.exports.traces import write_trace

LOG = "function_mlp__tf2.13.1__vlog2__tid"
FLAGS = (
    "--headless",
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--enable-unsafe-swiftshader",  # speedscope draws with WebGL
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--virtual-time-budget=20000",
    "--dump-dom",
)


@pytest.fixture
def viewer(tmp_path: Path) -> Path:
    """A folder with speedscope in it."""
    folder = os.environ.get("TFLOGSCOPE_SPEEDSCOPE")
    if CHROMIUM is None:
        missing("Chromium is not installed")
    if not folder or not (Path(folder) / "index.html").is_file():
        missing("TFLOGSCOPE_SPEEDSCOPE does not name a folder with speedscope")
    return Path(shutil.copytree(str(folder), tmp_path / "speedscope"))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(viewer: Path) -> Iterator[str]:
    """Where the folder is served, on this machine only."""
    handler = functools.partial(Quiet, directory=str(viewer))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def shown(address: str, file: str, profile: Path) -> str:
    """The page with a trace open, as the browser has built it."""
    page = f"{address}/index.html#profileURL={quote(f'{address}/{file}', safe='')}"
    done = subprocess.run(
        [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", page],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("file", ["t.json", "t.json.gz"])
def test_speedscope_opens_the_trace(file: str, viewer: Path, address: str, tmp_path: Path) -> None:
    with (viewer / file).open("wb") as stream:
        write_trace(run_of(LOG), stream, "chrome", "tests", path=file)
    page = shown(address, file, tmp_path / "profile")
    # The bar on top names the track and how many there are; the landing page has no such thing.
    assert "thread 9730" in page
    tracks = run_of(LOG).drawn.tracks.height
    assert f"(1/{tracks})" in page.replace("<!-- -->", "").replace("</span>", "")
    assert "went wrong" not in page.lower()
