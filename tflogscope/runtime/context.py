"""The one named place that every op call passes: `execute`. What it does depends on the current
context.

    execute("AddV2", [x, y])
        in the EagerContext:  run the kernel now, give EagerTensors                   (eager.py)
        in a Graph:           add a node, give SymbolicTensors                        (graph.py)
        and then, either way: let the gradient tapes that watch an input remember it  (tape.py)

This is what RFC 184 ("single Python code path for eager and graph") asked for. NB: TensorFlow did
otherwise. Every generated wrapper (`gen_math_ops.add_v2`) still asks `if
ctx._thread_local_data.is_eager` itself and has two paths; the RFC's abstract operations exist in
C++ beside them.

Each thread has its own stack of contexts; a new thread starts eager. Told about:
`tensorflow/python/eager/context.py` and `init_scope`, `name_scope`, `device` of `framework/ops.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from tflogscope.runtime import tape
from tflogscope.runtime.devices import canonical
from tflogscope.runtime.eager import EAGER
from tflogscope.runtime.operations import OpDef, lookup
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.tensors import Tensor, uid

__all__ = [
    "Context",
    "NameScope",
    "ask_for_default_graph",
    "current",
    "device",
    "enter",
    "execute",
    "executing_eagerly",
    "init_scope",
    "innermost_graph",
    "inside_function",
    "make_default",
    "name_scope",
    "op_scope",
]


class Context(Protocol):
    """Where ops are executed: eagerly, or into a graph."""

    building_function: bool

    def create_operation(
        self,
        definition: OpDef,
        inputs: Sequence[Tensor],
        attributes: dict[str, Any],
        name: str | None,
    ) -> OpRecord:
        """Do what an op call means here; the record has the outputs."""
        ...

    def scope(self, name: str | None) -> Any:
        """A context manager: ops made in it have names below `name`; gives the full name, ending in
        `/`.
        """
        ...


class _State(threading.local):
    def __init__(self) -> None:
        self.context: Context = EAGER
        self.outer: list[Context] = []
        self.eager_scope = ""
        self.device = ""
        self.has_default_graph = False


_state = _State()


def execute(
    type: str,
    inputs: Sequence[Tensor],
    attributes: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Execute an op in the current context; the list of its outputs (empty for ops without any).

    `inputs` are tensors already, in the op's order, lists laid flat. `name` is the node's name
    within the current name scope (default: the type); one that ends in `/` is the full name of a
    scope opened for this op. Raises NotInThisRuntime for an unknown op, ValueError for inputs that
    its shape function refuses (graphs), OpError for a failed kernel (eager).
    """
    definition = lookup(type)
    record = _state.context.create_operation(
        definition, inputs, definition.complete(attributes, inputs), name
    )
    if tape.recording():
        tape.record(record)
    return record.outputs


def current() -> Context:
    """The context of this thread."""
    return _state.context


def ask_for_default_graph() -> None:
    """TensorFlow makes an unused graph in each thread that first traces a function or makes a
    variable.

    All that shows of it is the number that it takes: the numbers in later functions' names are one
    higher.
    """
    if not _state.has_default_graph:
        _state.has_default_graph = True
        uid()


def innermost_graph() -> Context | None:
    """The graph that is being built, even if `init_scope` stepped out of it; None if none is."""
    contexts = [_state.context, *reversed(_state.outer)]
    return next((each for each in contexts if each is not EAGER), None)


def executing_eagerly() -> bool:
    """Do ops run at once? False while a function is traced."""
    return _state.context is EAGER


def inside_function() -> bool:
    """Is a function being traced?"""
    return _state.context.building_function


def make_default(context: Context) -> None:
    """Make this the outermost context of the thread: `tf.compat.v1.disable_eager_execution`.

    Raises ValueError within another context.
    """
    if _state.outer:
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    _state.context = context


@contextmanager
def enter(context: Context) -> Iterator[Context]:
    """Make this the current context."""
    _state.outer.append(_state.context)
    _state.context = context
    try:
        yield context
    finally:
        _state.context = _state.outer.pop()


@contextmanager
def init_scope() -> Iterator[None]:
    """Step out of all functions that are being traced: into the eager context, or the graph that
    holds them.

    Tapes do not record in it, and the name scope stays. Told about: `ops.init_scope`.
    """
    outside = next(
        (c for c in [_state.context, *reversed(_state.outer)] if not c.building_function), EAGER
    )
    scope = current_scope()
    with enter(outside), tape.stop_recording(), outside.scope(scope and scope + "/"):
        yield


def name_scope(name: str | None) -> Any:
    """A context manager; names of ops and variables made in it start with `name/`.

    In graphs the name is made unique, eagerly it is not. A name that ends in `/` is taken as it is;
    None or "" is the root.
    """
    return _state.context.scope(name)


class NameScope:
    """`tf.name_scope`: the same as an object that knows the name. Raises ValueError for a name that
    is no string.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self.name = name
        self._entered: list[Any] = []

    def __enter__(self) -> str:
        self._entered.append(name_scope(self.name))
        return self._entered[-1].__enter__()  # type: ignore[no-any-return]

    def __exit__(self, *error: object) -> None:
        self._entered.pop().__exit__(*error)


@contextmanager
def op_scope(name: str | None, default: str) -> Iterator[str | None]:
    """The scope that a Python function opens around the ops it is made of; nothing eagerly.

    Gives the scope's full name (`"moments/"`) to hand on as the `name` of the op that is the
    result, eagerly None. Told about: `ops.name_scope(name, default_name, values)`, which is
    skipped eagerly.
    """
    if executing_eagerly():
        yield None
        return
    with _state.context.scope(default if name is None else name) as scope:
        yield scope


@contextmanager
def eager_scope(name: str | None) -> Iterator[str]:
    """The name scope of the eager context: only variables and traced functions look at it."""
    previous = _state.eager_scope
    if not name:
        _state.eager_scope = ""
    elif name.endswith("/"):
        _state.eager_scope = name
    else:
        _state.eager_scope = f"{previous}{name}/"
    try:
        yield _state.eager_scope
    finally:
        _state.eager_scope = previous


def current_scope() -> str:
    """The name scope we are in, without the last `/`."""
    if executing_eagerly():
        return _state.eager_scope.rstrip("/")
    return getattr(_state.context, "scope_name", "") or ""


@contextmanager
def device(name: str | None) -> Iterator[None]:
    """`tf.device`: ops made in it ask for that device. Raises ValueError for a bad name."""
    previous = _state.device
    _state.device = canonical(name) if name else ""
    try:
        yield
    finally:
        _state.device = previous


def requested_device() -> str:
    """The device that `tf.device` asks for, or ""."""
    return _state.device
