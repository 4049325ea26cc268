from __future__ import annotations

import io
import sys

import pytest

from tflogscope.cli import progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.progress_bar() as advance:
        assert advance is None


@pytest.mark.parametrize(("patience", "drawn"), [(0.0, True), (3600.0, False)])
def test_a_bar_is_drawn_only_after_a_while_and_removed(
    patience: float, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress_bar() as advance:
        assert advance is not None
        advance(1, None)
        advance(10, 20)
    assert ("reading" in terminal.getvalue()) is drawn


def test_no_bar_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", _Terminal())
    monkeypatch.setenv("TERM", "dumb")
    with progress.progress_bar() as advance:
        assert advance is None
