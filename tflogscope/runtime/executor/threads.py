"""The threads that run ready nodes beside the one that called the function.

How many there are, `tf.config.threading.set_inter_op_parallelism_threads` says. NB: TensorFlow uses
all cores if nothing is said. Python runs one thread at a time (NumPy lets go of that only in long
kernels), so here one thread is the default, and fastest.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tflogscope.runtime.executor.dataflow import Run

__all__ = ["inter_op_threads", "set_inter_op_threads", "work_together"]

_wanted = 0


def set_inter_op_threads(count: int) -> None:
    """Run independent nodes on so many threads; 0: as the runtime thinks best. Raises ValueError
    for less.
    """
    global _wanted  # noqa: PLW0603 - one setting for the process
    if count < 0:
        raise ValueError(f"The number of threads can't be negative: {count}")
    _wanted = count


def inter_op_threads() -> int:
    """What was asked for; 0 if nothing was."""
    return _wanted


def work_together(run: Run, count: int) -> None:
    """Run all nodes of a step with so many threads, this one among them."""
    # NB: TensorFlow keeps its threads (`tf_Compute`) in a pool.
    change = threading.Condition()
    helpers = [
        threading.Thread(target=_work, args=(run, change), name=f"tf_Compute_{number}", daemon=True)
        for number in range(1, count)
    ]
    for helper in helpers:
        helper.start()
    _work(run, change)
    for helper in helpers:
        helper.join()


def _work(run: Run, change: threading.Condition) -> None:
    """Takes ready nodes until the step has ended. Kernels run side by side, outputs are handed on
    one at a time.
    """
    while True:
        with change:
            while not run.ready and run.running:
                change.wait()
            if not run.ready:
                change.notify_all()
                return
            item, iteration = run.ready.popleft()
            run.running += 1
        with np.errstate(all="ignore"):  # this is set thread by thread
            outputs, dead = run.process(item, iteration)
        with change:
            run.running -= 1
            if outputs is not None:
                run.propagate(item, iteration, outputs, dead)
            change.notify_all()
