"""Events → the linked run: executions, calls, functions, rewrites.

`tables` says what the rest of the program knows of a run, `run` what is made of that, `log_run`
makes the tables of a log. `frames` has the words in which rules say what they do with a frame.
Below, in the order in which they are worked out: `pairing` (a start and its end), `dispatches`
(eager executions and calls), `steps` (which function and call a step of the executor belongs to),
`executions` (all of them), `timeline` (with all that is known of each).
Then what is found out about executions, a folder each: `links` (which oneDNN lines are theirs),
`causes` (why they ran eagerly), `reasons` (why they were not rewritten), `slices` (where they stand
in a picture), `findings` (what of it costs time).
"""

from __future__ import annotations
