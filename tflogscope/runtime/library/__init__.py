"""Python functions made of ops: what `tf.reduce_mean` or `tf.nn.moments` do to become ops.

Each makes exactly the ops that TensorFlow's function of that name makes, in its order and, in
graphs, with its names: `op_scope` opens the name scope that TensorFlow opens there. Told about:
`tensorflow/python/ops/*.py`.
"""

from __future__ import annotations

from tflogscope.runtime.ops import entries  # who has the functions has the ops

__all__ = ["entries"]
