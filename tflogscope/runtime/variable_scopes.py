"""Variables of TensorFlow 1: `get_variable`, which finds them again by name, and the scopes that
say what such a name starts with.

A `variable_scope` is two things at once: a prefix of variables' names, which is the same whenever
the scope is entered, and a name scope for ops, which is made unique each time.

Told about: `python/ops/variable_scope.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.dtypes import DType, as_dtype, float32
from tflogscope.runtime.graph import Graph
from tflogscope.runtime.library import arrays, initializers_v1
from tflogscope.runtime.reference_variables import RefVariable
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor
from tflogscope.runtime.variables import Variable

__all__ = ["AUTO_REUSE", "VariableScope", "get_variable", "get_variable_scope", "variable_scope"]


class _Reuse(Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _Reuse.AUTO_REUSE


@dataclass
class VariableScope:
    """Where `get_variable` looks: a prefix, and whether variables are found or made."""

    name: str = ""
    reuse: bool | _Reuse = False
    initializer: Any = None
    original_name_scope: str = ""

    def reuse_variables(self) -> None:
        """From now on variables are found only."""
        self.reuse = True


@dataclass
class _Store:
    """What a graph knows of its variables."""

    variables: dict[str, Variable] = field(default_factory=dict)
    current: VariableScope = field(default_factory=VariableScope)
    opened: dict[str, int] = field(default_factory=dict)
    """How often each scope was opened, to give scopes without a name unique ones."""

    def unique_scope(self, prefix: str) -> str:
        """The prefix, with a number if a scope of that name was opened in the current one."""
        name, number = prefix, 0
        while self.opened.get(_joined(self.current.name, name), 0):
            number += 1
            name = f"{prefix}_{number}"
        return name


_eager = _Store()


def _store() -> _Store:
    """That of the current graph. Eagerly one that keeps no variables: they are not shared then."""
    graph = context.current()
    if not isinstance(graph, Graph):
        return _eager
    found = graph.collections.setdefault("variable store", [])
    if not found:
        found.append(_Store())
    return found[0]  # type: ignore[no-any-return]


def get_variable_scope() -> VariableScope:
    """The current one."""
    return _store().current


@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    reuse: bool | _Reuse | None = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Variables made in it have its name before theirs.

    `reuse`: True to find variables only, `AUTO_REUSE` to make those that are missing; inner scopes
    inherit it. Raises ValueError without any name.
    """
    del values
    if name_or_scope is None and default_name is None:
        raise ValueError("If default_name is None then name_or_scope is required")
    store = _store()
    outer = store.current
    if isinstance(name_or_scope, VariableScope):
        inherits, name = name_or_scope, name_or_scope.name
        ops = name.rpartition("/")[2]
    else:
        inherits, ops = outer, name_or_scope or default_name or ""
        name = _joined(outer.name, name_or_scope or store.unique_scope(ops))
    scope = VariableScope(name, reuse or inherits.reuse, initializer or inherits.initializer)
    store.opened[name] = store.opened.get(name, 0) + 1
    store.current = scope
    try:
        with context.name_scope(ops) if auxiliary_name_scope and ops else _same() as entered:
            scope.original_name_scope = entered
            yield scope
    finally:
        store.current = outer
        for inner in [each for each in store.opened if each.startswith(f"{name}/")]:
            del store.opened[inner]


@contextmanager
def _same() -> Iterator[str]:
    scope = context.current_scope()
    yield f"{scope}/" if scope else ""


def _joined(outer: str, name: str) -> str:
    return f"{outer}/{name}".strip("/")


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    use_resource: bool | None = None,
    **_: Any,
) -> Variable:
    """The variable of that name in the current scope, which says whether it is found or made.

    Without an initializer floats are drawn as Glorot says, others are zero. Raises ValueError if it
    is there and should be new, if it should be there, or if it has another shape.
    """
    del regularizer
    store = _store()
    scope = store.current
    full_name = _joined(scope.name, name)
    dims = None if shape is None else TensorShape(shape)
    if full_name in store.variables:
        return _found(store.variables[full_name], full_name, dims, reuse=scope.reuse)
    if scope.reuse is True:
        raise ValueError(
            f"Variable {full_name} does not exist, or was not created with tf.get_variable(). "
            "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    wanted = (
        None if dtype is None and isinstance(initializer, Tensor) else as_dtype(dtype or float32)
    )
    chosen = scope.initializer if initializer is None else initializer
    kind = RefVariable if use_resource is False else Variable
    with context.name_scope(None):
        made = kind(
            _first_value(chosen, dims, wanted),
            name=full_name if name else f"{full_name}/",  # as its scope, which is unique already
            trainable=trainable,
            dtype=wanted,
            shape=dims,
            use_resource=use_resource,
        )
    if store is not _eager:
        store.variables[full_name] = made
    return made


def _found(
    variable: Variable, name: str, shape: TensorShape | None, *, reuse: bool | _Reuse
) -> Variable:
    if not reuse:
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    if shape is not None and not shape.is_compatible_with(variable.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape "
            f"{variable.shape}."
        )
    return variable


def _first_value(initializer: Any, shape: TensorShape | None, dtype: DType | None) -> Any:
    """What the variable is made with: a value, or a function that gives it."""
    if initializer is not None and not callable(initializer):
        return initializer
    dims: Any = [] if shape is None else shape.as_list()
    wanted = dtype or float32
    if initializer is None:
        initializer = initializers_v1.glorot_uniform() if wanted.is_floating else arrays.zeros
    make: Callable[..., Any] = initializer() if isinstance(initializer, type) else initializer
    return lambda: make(dims, dtype=wanted)
