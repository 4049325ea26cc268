"""The one named place that every op call passes: `execute`. What it does depends on the current
context.

    execute("AddV2", [x, y])
        in the EagerContext:  run the kernel now, give EagerTensors                   (eager.py)
        in a Graph:           add a node, give SymbolicTensors                        (graph.py)
        and then, either way: let the gradient tapes that watch an input remember it  (tape.py)

This is what RFC 184 ("single Python code path for eager and graph") asked for. NB: TensorFlow did
otherwise: every generated wrapper (`gen_math_ops.add_v2`) still asks for the context itself and
has two paths. See `tensorflow/python/eager/context.py`, and `init_scope`, `name_scope`, `device` of
`framework/ops.py`.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from tflogscope.runtime.core import tape
from tflogscope.runtime.core.eager import EAGER
from tflogscope.runtime.core.registry import OpDef, lookup


class _State(threading.local):
    def __init__(self) -> None:
        self.context: Any = EAGER
        self.outer: list[Any] = []
        self.eager_scope = ""
        self.device = ""


_state = _State()


def execute(
    op: str | OpDef,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> list[Any]:
    """Execute an op in the current context; the list of its outputs.

    `inputs` are tensors, lists laid flat. `name` is the node's name within the current name scope
    (default: the type); one that ends in `/` is the full name of a scope opened for this op. Raises
    NotInThisRuntime for an unknown op, ValueError for inputs that its shape rule refuses (graphs),
    OpError for a failed kernel (eager).
    """
    definition = lookup(op) if isinstance(op, str) else op
    done = _state.context.create_operation(
        definition, inputs, definition.complete(attributes or {}, inputs), name
    )
    if tape.recording():
        scope = f"gradient_tape/{current_scope()}/".replace("//", "/")
        made = (definition.type, done.inputs, done.outputs, done.attributes)
        tape.record(tape.Entry(*made, None, "" if executing_eagerly() else scope))
    outputs: list[Any] = done.outputs
    return outputs


def current() -> Any:
    return _state.context


def executing_eagerly() -> bool:
    """Do ops run at once? False while a function is traced."""
    return _state.context is EAGER


def inside_function() -> bool:
    """Is a function being traced?"""
    return bool(_state.context.building_function)


def innermost_graph() -> Any:
    """The graph that is being built, even if `init_scope` stepped out of it; None if none is."""
    contexts = [_state.context, *reversed(_state.outer)]
    return next((each for each in contexts if each is not EAGER), None)


def make_default(context: Any) -> None:
    """Make this the outermost context of the thread: `tf.compat.v1.disable_eager_execution`."""
    _state.context = context


@contextmanager
def enter(context: Any) -> Iterator[Any]:
    _state.outer.append(_state.context)
    _state.context = context
    try:
        yield context
    finally:
        _state.context = _state.outer.pop()


@contextmanager
def init_scope() -> Iterator[None]:
    """Step out of all functions that are being traced. Tapes do not record in it, and the name
    scope stays.
    """
    contexts = [_state.context, *reversed(_state.outer)]
    outside = next((each for each in contexts if not each.building_function), EAGER)
    scope = current_scope()
    with enter(outside), tape.stop_recording(), name_scope(scope and scope + "/"):
        yield


def name_scope(name: str | None) -> Any:
    """A context manager; names of ops and variables made in it start with `name/`.

    In graphs the name is made unique, eagerly it is not. A name that ends in `/` is taken as it is;
    None or "" is the root. It gives the full name, ending in `/`.
    """
    return _eager_scope(name) if executing_eagerly() else _state.context.name_scope(name)


@contextmanager
def op_scope(name: str | None, default: str) -> Iterator[str | None]:
    """The scope that a Python function opens around the ops it is made of; nothing eagerly.

    Gives the full name (`"moments/"`) to hand on as the `name` of the op that is the result.
    """
    if executing_eagerly():
        yield None
        return
    with _state.context.name_scope(default if name is None else name) as scope:
        yield scope


@contextmanager
def _eager_scope(name: str | None) -> Iterator[str]:
    """The name scope of the eager context: only variables and traced functions look at it."""
    previous, whole = _state.eager_scope, not name or name.endswith("/")
    _state.eager_scope = (name or "") if whole else f"{previous}{name}/"
    try:
        yield _state.eager_scope
    finally:
        _state.eager_scope = previous


def current_scope() -> str:
    """The name scope we are in, without the last `/`."""
    scope = _state.eager_scope if executing_eagerly() else _state.context.scope_name
    return str(scope).rstrip("/")


@contextmanager
def device(name: str | None) -> Iterator[None]:
    """`tf.device`: ops made in it ask for that device. NB: there is one, the CPU."""
    previous, _state.device = _state.device, name or ""
    try:
        yield
    finally:
        _state.device = previous


def requested_device() -> str:
    return _state.device


Function = Callable[..., Any]


def scoped(label: str) -> Callable[[Function], Function]:
    """The function takes a `name`, or has this one. If it wants `scope`, that is the scope's full name,
    for the op that is the result.
    """

    def decorate(function: Function) -> Function:
        wants = "scope" in inspect.signature(function).parameters

        @wraps(function)
        def called(*args: Any, name: str | None = None, **keywords: Any) -> Any:
            with op_scope(name, label) as scope:
                own = {"scope": scope} if wants else {}
                return function(*args, **keywords, **own)

        return called

    return decorate


BASE = "2.13"
_followed = [(2, 13)]


def follow(release: str) -> None:
    """From now on be like that release, `2.20`."""
    major, minor = release.split(".")[:2]
    _followed[0] = (int(major), int(minor))


def since(major: int, minor: int) -> bool:
    """Is it that release, or a later one?"""
    return _followed[0] >= (major, minor)
