"""What TensorFlow 1 asks of variables: which have no value yet, giving one by hand, the step count.

Told about: `python/ops/variables.py`, `python/training/training_util.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.collections_v1 import GraphKeys, add_to_collection, get_collection
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.dtypes import int64, string
from tflogscope.runtime.library import arrays, comparison
from tflogscope.runtime.library.grouping import group
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.reference_variables import RefVariable
from tflogscope.runtime.sessions import get_default_graph, get_default_session, global_variables
from tflogscope.runtime.tensors import Tensor
from tflogscope.runtime.variable_scopes import get_variable
from tflogscope.runtime.variables import Variable

__all__ = [
    "create_global_step", "get_global_step", "get_or_create_global_step",
    "is_variable_initialized", "local_variables", "local_variables_initializer",
    "report_uninitialized_variables", "variables_initializer",
]  # fmt: skip


def local_variables() -> list[Variable]:
    """Those that are not to be saved."""
    return get_collection(GraphKeys.LOCAL_VARIABLES)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Any:
    """A node that gives these variables their first values."""
    return group(*[each.initializer for each in var_list], name=name)


def local_variables_initializer() -> Any:
    """A node that gives the local variables their first values."""
    return variables_initializer(local_variables(), name="init")


def is_variable_initialized(variable: Variable) -> Any:
    """Has it a value? A scalar bool tensor."""
    op = "IsVariableInitialized" if isinstance(variable, RefVariable) else "VarIsInitializedOp"
    return call(op, variable.handle)


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Any:
    """The names of those that have no value, when it runs."""
    asked = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    with context.name_scope(name):
        if not asked:
            return constant([], dtype=string)
        states = [is_variable_initialized(each) for each in asked]
        without = call("LogicalNot", call("Pack", states, axis=0))
        names = constant([each.name.partition(":")[0] for each in asked])
        return comparison.boolean_mask(names, without)


def get_global_step(graph: Any = None) -> Variable | None:
    """The variable that counts the steps, None if there is none."""
    graph = graph or get_default_graph()
    found = graph.collections.get(GraphKeys.GLOBAL_STEP) or [
        each for each in graph.collections.get("variables", ()) if each.name == "global_step:0"
    ]
    return found[0] if found else None


def create_global_step(graph: Any = None) -> Variable:
    """Make it. Raises ValueError if it is there."""
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    made = get_variable("global_step", [], int64, arrays.zeros, trainable=False)
    add_to_collection(GraphKeys.GLOBAL_STEP, made)
    return made


def get_or_create_global_step(graph: Any = None) -> Variable:
    """It, made if it is not there."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def load(variable: Variable, value: Any, session: Any = None) -> None:
    """`variable.load`: give it this value in the session. Raises ValueError if there is none."""
    if context.executing_eagerly():
        variable.assign(value)
        return
    session = session or get_default_session()
    if session is None:
        raise ValueError(
            "Either session argument should be provided or default session should be established"
        )
    node: Any = variable.initializer
    session.run(node, {node.inputs[1]: value})


def initial_value(variable: Variable) -> Tensor:
    """`variable.initial_value`: what it begins with. Raises RuntimeError eagerly."""
    if variable.initializer is None:
        raise RuntimeError("This property is not supported when eager execution is enabled.")
    found: Tensor = variable.initializer.inputs[1]
    return found


Variable.load = load  # type: ignore[attr-defined]
Variable.initial_value = property(initial_value)  # type: ignore[attr-defined]
