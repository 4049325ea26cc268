"""`tf.compat.v1`: only what programs for TensorFlow 2 still take from there."""

from __future__ import annotations

from tflogscope.runtime import context, graph, module, sessions, variables
from tflogscope.runtime.api import compat_v1_logging as logging
from tflogscope.runtime.api import compat_v1_nn as nn
from tflogscope.runtime.api import compat_v1_train as train
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.control_flow import while_loop as _while_loop
from tflogscope.runtime.library import comparison, debugging, initializers

Graph = graph.Graph
Module = module.Module
Variable = variables.Variable
executing_eagerly = context.executing_eagerly
name_scope = context.name_scope
set_random_seed = sessions.set_random_seed
Session = sessions.Session
assert_equal = debugging.assert_equal
assert_greater = debugging.assert_greater
assert_less = debugging.assert_less
get_default_session = sessions.get_default_session
ones_initializer = initializers.Ones
zeros_initializer = initializers.Zeros
constant_initializer = initializers.ConstantInitializer
random_normal_initializer = initializers.RandomNormal
random_uniform_initializer = initializers.RandomUniform
disable_eager_execution = sessions.disable_eager_execution
get_default_graph = sessions.get_default_graph
get_variable = sessions.get_variable
global_variables_initializer = sessions.global_variables_initializer
placeholder = sessions.placeholder
wrap_function = sessions.wrap_function
while_loop = _while_loop.while_loop
where = comparison.where_v1


def enable_eager_execution() -> None:
    """Nothing: ops run eagerly already."""


def enable_v2_behavior() -> None:
    """Nothing: it is TensorFlow 2 already."""


def disable_control_flow_v2() -> None:
    """Nothing. NB: loops and branches become the nodes of TensorFlow 1 only when a graph is made
    ready to run.
    """


__all__ = ["logging", "nn", "train"]
__getattr__ = missing("tf.compat.v1")
