"""Events → the linked run: executions, calls, functions, rewrites.

`run` is the door: tables made when first asked for. Below it, in the order in which they are
worked out: `pairing` (a start and its end), `dispatches` (eager executions and calls), `steps`
(which function and call a step of the executor belongs to), `executions` (all of them), `tables`.
Then what is found out about executions, a folder each: `links` (which oneDNN lines are theirs),
`causes` (why they ran eagerly), `reasons` (why they were not rewritten), `slices` (where they stand
in a picture), `findings` (what of it costs time).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

to_html: Callable[[Any], str] | None = None
"""Draws a run for a notebook; set by the package, for the model does not know the views."""
to_chart: Callable[[Any], Any] | None = None
"""Draws a run over time; set by the package like `to_html`."""
