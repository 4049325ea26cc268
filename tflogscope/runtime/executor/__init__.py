"""Running a graph: what `core/common_runtime/executor.cc` does.

plan.py        a function made ready: which node waits for how many inputs, in which frame
dataflow.py    a node runs when its inputs are there; dead branches, loops
functions.py   `run` a function; the ops that run one: If, Case, While, PartitionedCall
"""

from __future__ import annotations

from tflogscope.runtime.executor.functions import instantiate, run

__all__ = ["instantiate", "run"]
