"""Numbers that decide something and come from no source of TensorFlow's, with what was measured.

Measured on 221 logs of TensorFlow 2.8 to 2.21, the sample logs among them. In 22,511 pairs of a
line and an execution the shapes agree and no other execution could have run the line.
"""

from __future__ import annotations

# ---- links: what can belong together -------------------------------------------------------------

LINES_WITHOUT_END = 64
"""Where nothing bounds an execution, it is open for this many oneDNN lines.

No log has such an execution. The most lines of one execution are 32, of an Eigen convolution.
"""

# ---- links: what is odd, and habit ---------------------------------------------------------------

CLOCK_SLACK = 200  # µs
"""Clocks are read before a record is written, and threads lose the processor in between.

A primitive ended at most 20 µs after the next record's time, but for 18 pairs (up to 24 ms).
"""
DURATION_SLACK = 20  # µs
DURATION_FACTOR = 1.02
"""A primitive took at least 12 µs less than its execution, but for one pair (21 ms more).
"""
HABITS = (0.4, 0.7, 0.95)
"""Of the runs of a node: in how many a problem was seen, from seldom to each time.

A node's own problem is seen in all its runs (23,656 pairs), or in fewer than half where it has
several (36). Another node's is seen by chance: in less than 0.4 of them (2,191 pairs), or in up to
0.9 (370).
"""

# ---- links: lines that came late -----------------------------------------------------------------

LOST = 0.02
"""Of the lines that should be in an execution and are not, as records are torn.

Up to 4 % with four Python threads, 11 to 100 % where standard output was buffered.
"""
AFTER = 0.1
"""Of the lines that come after the end of their execution by order: up to 7 %; buffered: 98 %."""

# ---- limits, for logs that were made to be slow --------------------------------------------------

AT_ONCE = 64
"""Runs of equal functions that may be open at once. Measured: 4, one for each Python thread."""
MOST_PAIRS = 4_000_000
"""Pairs of a line and an open execution. Measured: 17,831, in a log of 502 MB."""
MOST_ROUNDS = 2000
"""Rounds of the assignment. Measured: 5."""
