"""The log that TensorFlow would have written.

    emitter.py      listens to the runtime (`telling.py`) and says what happens
      eager.py        eager ops, and the functions around them
      functions.py    how a function is made ready
      running.py      steps: nodes that are processed (steps.py: on which thread, when)
      kernels.py      a kernel at work: memory, primitives
    primitives.py   which oneDNN primitives a kernel runs (convolutions.py, memory.py)
    verbose.py      what oneDNN says about them
    sites.py        the log statements, their places and levels in each release
    dialects.py     how releases differ otherwise
    prefixes.py     what stands before a message
    node_lines.py   a node as text
    costs.py        how long things take
    output.py       the order of records, the file; truth.py: what really happened, beside it
    faults/         what goes wrong between the process and the file
    synthetic.py    logs of any size, without running anything

It shares no text with the analyzer's grammars: real logs judge both.
"""

from __future__ import annotations

from tflogscope.runtime.emitter.dialects import DIALECTS, Dialect, dialect
from tflogscope.runtime.emitter.emitter import Emitter
from tflogscope.runtime.emitter.prefixes import Levels

__all__ = ["DIALECTS", "Dialect", "Emitter", "Levels", "dialect"]
