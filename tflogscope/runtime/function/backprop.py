"""Gradients: a tape is followed back from the targets, op by op. A graph is differentiated the same
way: its nodes, in the order of their creation, are a tape. `tf.GradientTape`, `tf.custom_gradient`.

See `tensorflow/c/eager/tape.h` (`GradientTape::ComputeGradient`), `python/eager/backprop.py`,
`python/ops/custom_gradient.py`. NB: for graphs TensorFlow has another walk, `_GradientsHelper` of
`python/ops/gradients_util.py`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Self

from tflogscope.runtime.core import context, nest, telling
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import int32, resource, string
from tflogscope.runtime.core.graph import Graph
from tflogscope.runtime.core.registry import gradient_of
from tflogscope.runtime.core.tape import (
    Entry,
    Tape,
    differentiable,
    pop,
    push,
    record,
    stop_recording,
)
from tflogscope.runtime.core.tensors import SymbolicTensor, uid
from tflogscope.runtime.function.variables import values_of
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import add_gradients, dense

_LOSSES = ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits")
"""Their second output needs no zeros."""


def gradients_of(
    graph: Graph, targets: Sequence[Any], sources: Sequence[Any], given: Sequence[Any] | None = None
) -> list[Any]:
    """The gradients of a graph's tensors, made in the current graph; None where nothing connects
    them. Raises LookupError for an op that has no gradient.
    """
    tape = Tape(persistent=True, watch_accessed_variables=False)
    for source in sources:
        tape.watch(source)
    for node in graph.nodes:
        own, scope = node.gradient_function, f"{node.name}_grad"
        backward = None if own is None else partial(own, node)
        outputs = list(node.outputs)
        tape.note(Entry(node.type, node.inputs, outputs, node.attributes, backward, scope))
    with context.name_scope("gradients"):
        starts = []
        for index, each in enumerate(targets):
            shape, name = arrays.shape(each) if given is None else None, f"grad_ys_{index}"
            made = arrays.ones(shape, each.dtype, name=name) if given is None else given[index]
            starts.append(made if given is None else O.Identity(made, name=name))
        return backpropagate(tape, targets, sources, starts, of_graph=True)


def backpropagate(
    tape: Tape,
    targets: Sequence[Any],
    sources: Sequence[Any],
    given: Sequence[Any] | None = None,
    *,
    of_graph: bool = False,
) -> list[Any]:
    """The gradients of the targets' sum at the sources; None where nothing connects them."""
    wanted = {source.uid for source in sources}
    gradients: dict[int, list[Any]] = {}
    for index, target in enumerate(targets):
        start = None if given is None else given[index]
        if start is None and (tape.made_by.get(target.uid) is not None or target.uid in wanted):
            start = _ones(target)
        if start is not None:
            gradients.setdefault(target.uid, []).append(start)
    called, known = [], tape.made_by.keys() | wanted
    for entry in _backwards(tape.made_by, targets):
        grads = _of_outputs(entry, gradients, wanted, of_graph=of_graph)
        if grads is not None:
            called.append(entry.type)
            # NB: for graphs TensorFlow does not ask of which inputs no gradient is wanted
            numbered = enumerate(entry.inputs)
            skipped = [k for k, each in numbered if not of_graph and each.uid not in known]
            for tensor, grad in zip(entry.inputs, _call(entry, grads, skipped), strict=False):
                if grad is not None and tensor.uid in tape.made_by:  # a source may not be watched
                    if isinstance(grad, SymbolicTensor) and tensor.dtype.is_array:
                        grad.set_shape(tensor.shape)
                    gradients.setdefault(tensor.uid, []).append(grad)
    if context.executing_eagerly():
        telling.listener.tape_followed(called)
    return [_total(gradients.get(source.uid)) for source in sources]


def _backwards(made_by: Mapping[int, Entry | None], targets: Sequence[Any]) -> Iterator[Entry]:
    """The ops that the targets come from, each once all that use its outputs have been there."""
    waits: Counter[Entry] = Counter()
    seen: dict[Entry, None] = {}
    stack = [made_by.get(target.uid) for target in reversed(targets)]
    while stack:
        entry = stack.pop()
        if entry is not None and entry not in seen:
            seen[entry] = None
            makers = [made_by.get(tensor.uid) for tensor in entry.inputs]
            waits.update(maker for maker in makers if maker is not None)
            stack += makers
    ready = deque(entry for entry in seen if not waits[entry])
    while ready:
        entry = ready.popleft()
        yield entry
        for maker in [made_by.get(tensor.uid) for tensor in entry.inputs]:
            if maker is not None:
                waits[maker] -= 1
                if not waits[maker]:
                    ready.append(maker)


def _of_outputs(
    entry: Entry, gradients: dict[int, list[Any]], wanted: set[int], *, of_graph: bool
) -> list[Any] | None:
    """The gradients of an op's outputs, zeros for those that have none; None if none has one."""
    results = []
    for output in entry.outputs:
        results.append(_total(gradients.get(output.uid)))
        if output.uid in wanted and results[-1] is not None:
            gradients[output.uid] = [results[-1]]
        else:
            gradients.pop(output.uid, None)
    if all(result is None for result in results):
        return None
    for index, output in enumerate(entry.outputs):
        if results[index] is None and not (index == 1 and entry.type in _LOSSES):
            results[index] = _zeros_in_graph(output) if of_graph else zeros_for(output)
    return results


def _call(entry: Entry, grads: list[Any], skipped: Sequence[int]) -> Sequence[Any]:
    function = entry.backward or gradient_of(entry.type)
    if function is None:
        return []
    if entry.backward is None:
        function = partial(function, replace(entry, skip_input_indices=tuple(skipped)))
    scoped = entry.scope and not context.executing_eagerly()
    with context.name_scope(entry.scope) if scoped else nullcontext():
        found = function(*grads)
    return found if isinstance(found, (list, tuple)) else [found]


def _total(gradients: list[Any] | None) -> Any:
    """The sum of gradients that came from several sides."""
    if not gradients:
        return None
    return gradients[0] if len(gradients) == 1 else add_gradients(gradients)


# -- ones and zeros

_zeros_cache: dict[Any, Any] = {}


def shape_and_dtype(tensor: Any) -> Any:
    """Those of the tensor, or of the value that a variable's handle leads to."""
    if tensor.dtype is resource and tensor.handle_data is not None:
        return tensor.handle_data
    return tensor.shape, tensor.dtype


def zeros_like(tensor: Any) -> Any:
    """Zeros; for a handle as its variable's value."""
    if tensor.dtype is resource:
        return arrays.zeros(*shape_and_dtype(tensor))
    return arrays.zeros_like(tensor)


def _ones(tensor: Any) -> Any:
    shape, dtype = shape_and_dtype(tensor)
    if not shape.is_fully_defined():
        return arrays.ones_like(tensor)
    if not context.executing_eagerly():
        return arrays.ones(shape, dtype)
    return constant(1, dtype) if shape.rank == 0 else _filled(1, shape, dtype)


def zeros_for(tensor: Any) -> Any:
    """The gradient of an output that nothing needs."""
    shape, dtype = tensor.shape, tensor.dtype
    if dtype in {resource, string}:
        return None  # gradients of ops that give handles know what to do
    if not dtype.is_array or not shape.is_fully_defined():
        return zeros_like(tensor)
    if not context.executing_eagerly():
        return arrays.zeros(shape, dtype)
    if (shape, dtype) not in _zeros_cache:
        _zeros_cache[shape, dtype] = _filled(0, shape, dtype)
    return _zeros_cache[shape, dtype]


def _zeros_in_graph(tensor: Any) -> Any:
    """See `_ZerosLike` of `python/ops/gradients_util.py`, `default_gradient.py`."""
    if tensor.dtype is resource:
        known = tensor.handle_data
        return None if known is None else arrays.zeros(O.VariableShape(tensor), known.dtype)
    if not differentiable(tensor):
        return None
    with context.op_scope(None, "zeros_like") as scope:
        return O.ZerosLike(tensor, name=scope)


def _filled(value: int, shape: Any, dtype: Any) -> Any:
    dims = constant(shape.as_list(), int32)
    return O.Fill(dims, constant(bool(value) if dtype.is_bool else value, dtype), index_type=int32)


# -- `tf.GradientTape`, and functions with a gradient of their own


class GradientTape:
    """Remembers what is done in its `with` block, to differentiate it."""

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        options = {"persistent": persistent, "watch_accessed_variables": watch_accessed_variables}
        self._recorded, self._used = Tape(**options), False

    def __enter__(self) -> Self:
        push(self._recorded)
        return self

    def __exit__(self, *_: object) -> None:
        pop(self._recorded)

    def watch(self, tensor: Any) -> None:
        for value in nest.flatten(tensor):
            self._recorded.watch(getattr(value, "handle", value))

    def watched_variables(self) -> tuple[Any, ...]:
        return tuple(self._recorded.variables.values())

    def gradient(self, target: Any, sources: Any, output_gradients: Any = None) -> Any:
        """The gradient of the targets' sum at the sources.

        Raises RuntimeError if this tape has given one before and is not persistent.
        """
        self._follow()
        targets = [convert_to_tensor(getattr(e, "handle", e)) for e in nest.flatten(target)]
        handles = [getattr(e, "handle", e) for e in nest.flatten(sources)]
        given = None if output_gradients is None else nest.flatten(output_gradients)
        given = given and [None if each is None else convert_to_tensor(each) for each in given]
        found = backpropagate(self._recorded, targets, handles, given)
        return nest.pack_sequence_as(sources, found)

    def jacobian(self, target: Any, sources: Any) -> Any:
        """The gradient of each element of the target.

        NB: element by element, of which the log says nothing; TensorFlow vectorizes the loop (`pfor`)
        and runs a function of a few nodes.
        """
        self._follow()
        handles = [getattr(e, "handle", e) for e in nest.flatten(sources)]
        with self, telling.listen(None):
            flat = arrays.reshape(target, [-1])
            elements = [flat[index] for index in range(flat.shape[0])]
        with telling.listen(None):
            rows = [backpropagate(self._recorded, [each], handles) for each in elements]
        columns = [[dense(grad) for grad in column] for column in zip(*rows, strict=True)]
        shapes = [[*target.shape, *each[0].shape] for each in columns]
        pairs = zip(columns, shapes, strict=True)
        results = [arrays.reshape(arrays.stack(column), shape) for column, shape in pairs]
        return nest.pack_sequence_as(sources, results)

    def _follow(self) -> None:
        """It is followed back now: once, unless it is persistent."""
        if not self._recorded.persistent:
            pop(self._recorded)
            if self._used:
                raise RuntimeError("A non-persistent GradientTape gives gradients only once")
            self._used = True


def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(*args)` gives its result and the function of its gradient."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        eagerly, name = context.executing_eagerly(), getattr(function, "__name__", "custom")
        if not eagerly:
            args = nest.map_structure(convert_to_tensor, values_of(tuple(args)))
        with GradientTape() as watcher:
            result, grad_function = function(*args, **kwargs)
        passed = [id(value) for value in args]
        variables = [v for v in watcher.watched_variables() if id(v) not in passed]
        results, flat_args = nest.flatten(result), nest.flatten(list(args))

        def backward(*grads: Any) -> list[Any]:
            given = grads[: len(results)]
            if not variables:
                return nest.flatten(grad_function(*given))
            of_arguments, of_variables = grad_function(*given, variables=list(variables))
            return nest.flatten(of_arguments) + list(of_variables)

        copies = [O.Identity(leaf) for leaf in results]  # in graphs nothing uses these
        if eagerly:
            inputs = [convert_to_tensor(leaf) for leaf in [*flat_args, *variables]]
            record(Entry(name, inputs, copies, {}, backward))
            return nest.pack_sequence_as(result, copies)
        variables.sort(key=lambda variable: str(variable.name))
        originals = [convert_to_tensor(leaf) for leaf in [*results, *flat_args, *variables]]

        def after_results(*grads: Any) -> list[Any]:
            return [None] * len(results) + backward(*grads)

        with stop_recording():
            types, mark = tuple(each.dtype for each in originals), f"CustomGradient-{uid()}"
            attributes = {"T": types, "_gradient_op_type": mark}
            outputs = context.execute("IdentityN", originals, attributes)
        outputs[0].op.gradient_function = lambda _, *grads: after_results(*grads)
        record(Entry(name, originals, outputs, {}, after_results))
        return nest.pack_sequence_as(result, outputs[: len(results)])

    return wrapper
