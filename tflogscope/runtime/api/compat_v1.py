"""`tf.compat.v1`: only what programs for TensorFlow 2 still take from there."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import (
    collections_v1,
    context,
    graph,
    module,
    reference_variables,
    sessions,
    shapes,
    variable_scopes,
    variables,
    variables_v1,
)
from tflogscope.runtime.api import compat_v1_data as data
from tflogscope.runtime.api import compat_v1_logging as logging
from tflogscope.runtime.api import compat_v1_losses as losses
from tflogscope.runtime.api import compat_v1_nn as nn
from tflogscope.runtime.api import compat_v1_train as train
from tflogscope.runtime.api.compat_v1_names import shared as _shared
from tflogscope.runtime.control_flow import while_loop as _while_loop
from tflogscope.runtime.library import (
    comparison,
    debugging,
    graphs,
    initializers,
    initializers_v1,
    lookup,
)

Graph = graph.Graph
Module = module.Module
Variable = variables.Variable
executing_eagerly = context.executing_eagerly
name_scope = context.name_scope
set_random_seed = sessions.set_random_seed
ConfigProto = sessions.ConfigProto
GraphKeys = collections_v1.GraphKeys
InteractiveSession = sessions.InteractiveSession
Session = sessions.Session
add_to_collection = collections_v1.add_to_collection
get_collection = collections_v1.get_collection
get_collection_ref = collections_v1.get_collection_ref
hessians = graphs.hessians
initialize_variables = variables_v1.variables_initializer
is_variable_initialized = variables_v1.is_variable_initialized
local_variables = variables_v1.local_variables
local_variables_initializer = variables_v1.local_variables_initializer
report_uninitialized_variables = variables_v1.report_uninitialized_variables
reset_default_graph = sessions.reset_default_graph
tables_initializer = lookup.tables_initializer
variables_initializer = variables_v1.variables_initializer
assert_equal = debugging.assert_equal
assert_greater = debugging.assert_greater
assert_less = debugging.assert_less
get_default_session = sessions.get_default_session
ones_initializer = initializers.Ones
zeros_initializer = initializers.Zeros
constant_initializer = initializers.ConstantInitializer
random_normal_initializer = initializers_v1.random_normal
random_uniform_initializer = initializers_v1.random_uniform
truncated_normal_initializer = initializers_v1.truncated_normal
glorot_uniform_initializer = initializers_v1.glorot_uniform
glorot_normal_initializer = initializers_v1.glorot_normal
disable_eager_execution = sessions.disable_eager_execution
get_default_graph = sessions.get_default_graph
get_variable = variable_scopes.get_variable
get_variable_scope = variable_scopes.get_variable_scope
variable_scope = variable_scopes.variable_scope
VariableScope = variable_scopes.VariableScope
AUTO_REUSE = variable_scopes.AUTO_REUSE
global_variables = sessions.global_variables
trainable_variables = sessions.trainable_variables
placeholder_with_default = sessions.placeholder_with_default
global_variables_initializer = sessions.global_variables_initializer
placeholder = sessions.placeholder
wrap_function = sessions.wrap_function
while_loop = _while_loop.while_loop
where = comparison.where_v1


def enable_eager_execution() -> None:
    """Nothing: ops run eagerly already."""


def enable_v2_behavior() -> None:
    """Nothing: it is TensorFlow 2 already."""


def disable_v2_behavior() -> None:
    """From now on ops are nodes of a graph, and variables references. NB: loops stay functions
    until they run, and dimensions are numbers.
    """
    shapes.show_unknown_dimensions_as("?")
    sessions.disable_eager_execution()
    reference_variables.disable_resource_variables()


def disable_resource_variables() -> None:
    """From now on variables are references."""
    reference_variables.disable_resource_variables()


def enable_resource_variables() -> None:
    """From now on variables are resources, as they are from the start."""
    reference_variables.enable_resource_variables()


def assign(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Give the variable this value."""
    return ref.assign(value, use_locking, name)


def assign_add(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Add this to the variable."""
    return ref.assign_add(value, use_locking, name)


def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Take this from the variable."""
    return ref.assign_sub(value, use_locking, name)


def disable_control_flow_v2() -> None:
    """Nothing. NB: loops and branches become the nodes of TensorFlow 1 only when a graph is made
    ready to run.
    """


__all__ = ["data", "logging", "losses", "nn", "train"]
__getattr__ = _shared()
