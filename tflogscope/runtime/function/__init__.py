"""Functions: `tf.function`, what it is made of, and what is made with it. In reading order.

variables.py          variables, `tf.Module`
backprop.py           a tape is followed back, and so is a graph; `tf.GradientTape`, `tf.custom_gradient`
func_graph.py         a Python function is run to build a graph, which captures, and keeps side effects in order
concrete.py           a traced function, and how it is differentiated
branches.py           `tf.cond`; its gradient
loops.py              `tf.while_loop`; its gradient
tensor_array.py       `tf.TensorArray`, `tf.map_fn`
autograph/            Python's control flow as ops
polymorphic.py        `tf.function`: a trace for each type of the arguments
py_function.py        Python functions as ops
"""

from __future__ import annotations

from tflogscope.runtime import ops as ops  # the table is filled
from tflogscope.runtime.library import slices as slices  # `x + y` is an op
