"""`tf.function`: from Python to graphs that run.

In the order in which a call goes through it:

polymorphic.py           what `tf.function` returns; its first call, on which variables may be
                         created
signature.py             arguments are bound to parameters; their types are the cache key,
trace_types.py           made of the type of each
cache.py                 the traces so far; the most specific one that will do
compiler.py              no trace will do: make one
tracing.py               run the Python function with placeholders
func_graph.py            the graph that it fills; tensors from outside are captured
control_dependencies.py  stateful ops are put in order
definition.py            what a trace leaves: a definition that no longer changes
node_names.py            what its nodes, arguments and results are called then
graph_function.py        it is registered as an op
call_shapes.py           what is known of a call's results
concrete.py              call it
forward_backward.py      differentiate the call
lifting.py               variables created in the function get their first values outside it
retracing.py             the warning that it is traced too often
"""

from __future__ import annotations

from tflogscope.runtime.ops import arrays  # Placeholder, Const, Identity, NoOp

__all__ = ["arrays"]
