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
from types import ModuleType

uses: Callable[[], ModuleType]
"""Imports `tflogscope.uses`: what layers above do with a run. The package sets it, for the model
knows none of them."""
