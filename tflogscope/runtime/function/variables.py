"""Variables: `tf.Variable`. The value is behind a handle; reading it is an op, and so is each change.
`tf.Module`: an object that finds the variables in its attributes. See
`tensorflow/python/ops/resource_variable_ops.py`, `python/module/module.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partialmethod
from typing import Any

import numpy as np

from tflogscope.runtime import executor
from tflogscope.runtime.core import context, nest, tape
from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import executing_eagerly
from tflogscope.runtime.core.conversion import convert_to_tensor, register_conversion
from tflogscope.runtime.core.dtypes import as_dtype
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.graph import define
from tflogscope.runtime.core.shapes import as_shape
from tflogscope.runtime.core.tensors import EagerTensor, HandleData, Operators, SymbolicTensor
from tflogscope.runtime.ops.state import ANONYMOUS

_making: ContextVar[tuple[bool, list[Any]] | None] = ContextVar("making", default=None)


@contextmanager
def making_variables(*, allowed: bool) -> Iterator[list[Any]]:
    """The variables that a function makes while it is traced, which it may or may not."""
    made: list[Any] = []
    before = _making.set((allowed, made))
    try:
        yield made
    finally:
        _making.reset(before)


class Variable(Operators):
    """A value that can change."""

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        *,
        name: str | None = None,
        dtype: Any = None,
        shape: Any = None,
    ) -> None:
        self.trainable = trainable is not False
        allowed, made = _making.get() or (True, [])
        made.append(self)
        if not allowed:
            raise ValueError("tf.function may only make variables on its first call.")
        with context.init_scope(), context.name_scope(name or "Variable") as scope:
            value = _initial_tensor(initial_value, dtype)
            self._name, self.dtype = scope[:-1], value.dtype
            self.shape = value.shape if shape is None else as_shape(shape)
            eagerly = executing_eagerly()
            options = {"shape": self.shape, "dtype": self.dtype, "name": scope}
            self.handle = O.VarHandleOp(shared_name=ANONYMOUS if eagerly else self._name, **options)
            self.handle.handle_data = HandleData(self.shape, self.dtype)
            if eagerly:
                O.AssignVariableOp(self.handle, value)
            else:
                self._in_session(value)

    def _in_session(self, value: Any) -> None:
        """What a graph of TensorFlow 1 has for a variable."""
        graph = context.current()
        with context.name_scope("IsInitialized"):
            O.VarIsInitializedOp(self.handle)
        with context.name_scope("Assign") as scope:
            O.AssignVariableOp(self.handle, value, name=scope)
        self.initializer = graph.nodes[-1]
        with context.name_scope("Read"):
            self.graph_element = O.ReadVariableOp(self.handle, dtype=self.dtype)
        for key in ("variables", "trainable_variables")[: 1 + self.trainable]:
            graph.collections.setdefault(key, []).append(self)

    # -- what it is

    name = property(lambda self: f"{self._name}:0")
    op = property(lambda self: self.handle.op)

    def __getattr__(self, name: str) -> Any:
        return missing("tf.Variable", name)

    # -- reading

    def value(self) -> Any:
        accessed(self)
        value = O.ReadVariableOp(self.handle, dtype=self.dtype)
        if not executing_eagerly():
            # tapes see it read outside: gradients go to the handle itself, not to what is captured
            tape.record(tape.Entry("ReadVariableOp", [self.handle], [value], {}, lambda g: [g]))
        return value

    def read_value(self) -> Any:
        with context.op_scope("Read", "Read"):
            value = self.value()
        return O.Identity(value)

    def numpy(self) -> Any:
        return self.read_value().numpy()

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        with context.op_scope(name, "Gather") as scope:
            accessed(self)
            return O.ResourceGather(self.handle, indices, dtype=self.dtype, name=scope)

    # -- changing

    def _change(self, op: str, value: Any, *, name: Any = None, read_value: bool = True) -> Any:
        value = convert_to_tensor(value, self.dtype)
        if op == "AssignVariableOp" and not self.shape.is_compatible_with(value.shape):
            raise ValueError(f"Cannot assign {value.shape} to {self.name} of shape {self.shape}.")
        with self._ordered():
            call(op, self.handle, value, name=name)
        accessed(self)
        if executing_eagerly():
            return self
        node = context.current().nodes[-1]
        return UnreadVariable(self, node) if read_value else node

    assign = partialmethod(_change, "AssignVariableOp")
    assign_add = partialmethod(_change, "AssignAddVariableOp")
    assign_sub = partialmethod(_change, "AssignSubVariableOp")

    def _ordered(self) -> AbstractContextManager[None]:
        return nullcontext()

    # -- as a Python value

    def _operand(self) -> Any:
        return self.value()

    def __hash__(self) -> int:
        raise TypeError("Variable is unhashable.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype)

    def __bool__(self) -> bool:
        return bool(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __float__(self) -> float:
        return float(self.value())

    def __repr__(self) -> str:
        shown = f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}"
        if not executing_eagerly():
            return f"{shown}>"
        text = repr(self.read_value())
        return f"{shown}, numpy={text[text.index('numpy=') + 6 :]}"


class UnreadVariable(Variable):
    """A variable right after a change in a graph: reading it comes after that. `_UnreadVariable`."""

    def __init__(self, variable: Variable, node: Any) -> None:
        vars(self).update(vars(variable), _name="UnreadVariable", _node=node)
        if not context.inside_function():
            self.graph_element = self.value()  # a session may ask for it

    op = property(lambda self: self._node)

    def value(self) -> Any:
        with self._ordered():
            return O.ReadVariableOp(self.handle, dtype=self.dtype)

    read_value = value

    def _ordered(self) -> AbstractContextManager[None]:
        found: AbstractContextManager[None] = context.current().control_dependencies([self._node])
        return found


def _initial_tensor(value: Any, dtype: Any) -> Any:
    """NB: what a function computes for a variable is run at once; TensorFlow lifts it out of there."""
    if isinstance(value, SymbolicTensor) and context.executing_eagerly():
        graph: Any = value.op.graph
        made = define("initialize_variables", graph.nodes, graph.internal_captures, [value])
        given = [getattr(each, "value", None) for each in graph.external_captures]
        value = EagerTensor(executor.run(made, given)[0], value.dtype)
    with context.op_scope("Initializer", "Initializer"):
        value = value() if callable(value) else value
        return convert_to_tensor(value, None if dtype is None else as_dtype(dtype), "initial_value")


def accessed(variable: Any) -> None:
    watch = getattr(context.current(), "watch_variable", None)
    if watch is not None:
        watch(variable)
    if variable.trainable:
        tape.variable_accessed(variable)


def values_of(structure: Any) -> Any:
    return nest.map_structure(lambda e: e.value() if isinstance(e, Variable) else e, structure)


def _to_tensor(variable: Any, dtype: Any, _: Any) -> Any:
    if dtype is not None and variable.dtype is not dtype:
        raise ValueError(f"{variable.name} is of {variable.dtype.name}, not of {dtype.name}.")
    return variable.value()


register_conversion(Variable, _to_tensor)


class Module:
    """Something with variables."""

    def __init__(self, name: str | None = None) -> None:
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])", "_", type(self).__name__)
        self._name = snake.lower() if name is None else name
        with context.name_scope(self._name) as scope:
            self._scope_name = scope

    name = property(lambda self: self._name)
    name_scope = property(lambda self: context.name_scope(self._scope_name))
    variables = property(lambda self: tuple(_variables(self, {id(self)})))
    trainable_variables = property(lambda self: tuple(v for v in self.variables if v.trainable))


def _variables(module: Any, seen: set[int]) -> Iterator[Any]:
    """Those in its own attributes first, then those of the modules in them."""
    leaves = [leaf for name in sorted(vars(module)) for leaf in nest.flatten(vars(module)[name])]
    found = {id(leaf): leaf for leaf in leaves if isinstance(leaf, (Variable, Module))}
    new = [leaf for key, leaf in found.items() if key not in seen]
    seen |= found.keys()
    yield from (leaf for leaf in new if isinstance(leaf, Variable))
    for leaf in new:
        if isinstance(leaf, Module):
            yield from _variables(leaf, seen)
