"""A loop over independent iterations without a loop: `pfor`, by which Jacobians are made.

The body is traced once, for an iteration that is not known. Then its nodes are made again so that
each does the work of all iterations: what differs between iterations gets one dimension more, the
first (*stacked*); what does not stays as it is.

    conversion.py   which nodes are made again, and in which order
    rules.py        op by op: how the work of all iterations is done at once
    mapping.py      `tf.vectorized_map`

Told about: `python/ops/parallel_for/control_flow_ops.py` and `pfor.py`.
"""

from __future__ import annotations

from tflogscope.runtime.vectorizing.conversion import NotVectorized, pfor

__all__ = ["NotVectorized", "pfor"]
