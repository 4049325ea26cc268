"""Gradients: a tape is followed back from the targets, op by op. A graph is differentiated the same
way: its nodes, in the order of their creation, are a tape.

See `tensorflow/c/eager/tape.h` (`GradientTape::ComputeGradient`), `python/eager/backprop.py`. NB: for
graphs TensorFlow has another walk, `_GradientsHelper` of `python/ops/gradients_util.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from tflogscope.runtime.core import context, telling
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.dtypes import int32, resource, string
from tflogscope.runtime.core.graph import Graph
from tflogscope.runtime.core.registry import gradient_of
from tflogscope.runtime.core.tape import Entry, Tape, differentiable
from tflogscope.runtime.core.tensors import SymbolicTensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import add_gradients

_NEEDS_NO_ZEROS = {
    "SoftmaxCrossEntropyWithLogits": frozenset({1}),
    "SparseSoftmaxCrossEntropyWithLogits": frozenset({1}),
}


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
        for index, target in enumerate(targets):
            name, shape = f"grad_ys_{index}", arrays.shape(target) if given is None else None
            made = arrays.ones(shape, target.dtype, name=name) if given is None else given[index]
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
    walk = _Walk(tape, targets)
    wanted = {source.uid for source in sources}
    gradients: dict[int, list[Any]] = {}
    for index, target in enumerate(targets):
        start = None if given is None else given[index]
        if start is None and (tape.made_by.get(target.uid) is not None or target.uid in wanted):
            start = _ones(target)
        if start is not None:
            gradients.setdefault(target.uid, []).append(start)
    ready = deque(entry for entry in walk.entries if not walk.missing.get(id(entry)))
    called = []
    while ready:
        entry = ready.popleft()
        grads = _of_outputs(entry, gradients, wanted, of_graph=of_graph)
        if grads is not None:
            called.append(entry.type)
            skipped = () if of_graph else _unwanted(entry, tape.made_by.keys() | wanted)
            found = _call(entry, grads, skipped)
            for tensor, grad in zip(entry.inputs, found, strict=False):
                if grad is not None and tensor.uid in tape.made_by:  # a source may not be watched
                    if isinstance(grad, SymbolicTensor) and tensor.dtype.is_array:
                        grad.set_shape(tensor.shape)
                    gradients.setdefault(tensor.uid, []).append(grad)
        ready.extend(walk.done(entry))
    if context.executing_eagerly():
        telling.listener.tape_followed(called)
    return [_total(gradients.get(source.uid)) for source in sources]


class _Walk:
    """Which ops the targets come from, and for how many of those that use an op's outputs its
    gradient has to wait.
    """

    def __init__(self, tape: Tape, targets: Sequence[Any]) -> None:
        self._made_by = tape.made_by
        self.entries: list[Entry] = []
        self._uses: dict[int, int] = {}
        self.missing: dict[int, int] = {}
        seen: set[int] = set()
        stack = [target.uid for target in reversed(targets)]
        while stack:
            entry = self._made_by.get(stack.pop())
            if entry is None or id(entry) in seen:
                continue
            seen.add(id(entry))
            self.entries.append(entry)
            for tensor in entry.inputs:
                if tensor.uid not in self._uses and tensor.uid in self._made_by:
                    stack.append(tensor.uid)
                self._uses[tensor.uid] = self._uses.get(tensor.uid, 0) + 1
        for key in self._uses:
            maker = self._made_by.get(key)
            if maker is not None:
                self.missing[id(maker)] = self.missing.get(id(maker), 0) + 1

    def done(self, entry: Entry) -> list[Entry]:
        """The entries that this one was the last to wait for."""
        freed = []
        for tensor in entry.inputs:
            self._uses[tensor.uid] -= 1
            maker = self._made_by.get(tensor.uid)
            if not self._uses[tensor.uid] and maker is not None:
                self.missing[id(maker)] -= 1
                freed += [] if self.missing[id(maker)] else [maker]
        return freed


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
    needless = _NEEDS_NO_ZEROS.get(entry.type, ())
    for index, output in enumerate(entry.outputs):
        if results[index] is None and index not in needless:
            results[index] = _zeros_in_graph(output) if of_graph else zeros_for(output)
    return results


def _unwanted(entry: Entry, known: AbstractSet[int]) -> tuple[int, ...]:
    """The inputs of which no gradient is wanted. NB: for graphs TensorFlow does not ask."""
    return tuple(k for k, tensor in enumerate(entry.inputs) if tensor.uid not in known)


def _call(entry: Entry, grads: list[Any], skipped: tuple[int, ...]) -> Sequence[Any]:
    function = entry.backward
    if function is None:
        own = gradient_of(entry.type)
        function = own and partial(own, replace(entry, skip_input_indices=skipped))
    if function is None:
        return []
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
    shape, dtype = tensor.shape, tensor.dtype
    if not differentiable(tensor) or (dtype is resource and tensor.handle_data is None):
        return None
    if dtype is resource:
        return arrays.zeros(O.VariableShape(tensor), tensor.handle_data.dtype)
    if tensor.graph.is_while_body and dtype.is_array and shape.is_fully_defined():
        return constant(0, dtype, shape)  # ZerosLike would make the loop keep the value
    with context.op_scope(None, "zeros_like") as scope:
        return O.ZerosLike(tensor, name=scope)


def _filled(value: int, shape: Any, dtype: Any) -> Any:
    dims = constant(shape.as_list(), int32)
    return O.Fill(dims, constant(bool(value) if dtype.is_bool else value, dtype), index_type=int32)
