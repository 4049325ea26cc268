"""`tf.config.threading`: how many threads run the nodes of a graph."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.executor import threads

get_inter_op_parallelism_threads = threads.inter_op_threads
set_inter_op_parallelism_threads = threads.set_inter_op_threads

_intra = [0]


def get_intra_op_parallelism_threads() -> int:
    """What was set; 0 leaves it to the runtime."""
    return _intra[0]


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Kept only: NumPy decides on the threads within an op."""
    _intra[0] = num_threads


__getattr__ = missing("tf.config.threading")
