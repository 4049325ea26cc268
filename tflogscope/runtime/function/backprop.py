"""Gradients by a tape: it is followed back from the targets, op by op. See
`tensorflow/c/eager/tape.h` (`GradientTape::ComputeGradient`), `python/eager/backprop.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tflogscope.runtime.core import context, telling
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.dtypes import int32, resource, string
from tflogscope.runtime.core.registry import gradient_of
from tflogscope.runtime.core.tape import Entry, Tape
from tflogscope.runtime.core.tensors import EagerTensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slopes import add_gradients

_NEEDS_NO_ZEROS = {
    "SoftmaxCrossEntropyWithLogits": frozenset({1}),
    "SparseSoftmaxCrossEntropyWithLogits": frozenset({1}),
}


def backpropagate(
    tape: Tape, targets: Sequence[Any], sources: Sequence[Any], given: Sequence[Any] | None = None
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
        grads = _of_outputs(entry, gradients, wanted)
        if grads is not None:
            called.append(entry.type)
            found = _call(entry, grads, tape, wanted)
            for tensor, grad in zip(entry.inputs, found, strict=False):
                if grad is not None and tensor.uid in tape.made_by:  # a source may not be watched
                    gradients.setdefault(tensor.uid, []).append(grad)
        ready.extend(walk.done(entry))
    if telling.listener is not None:
        telling.listener.tape_followed(called)
    return [total(gradients.get(source.uid)) for source in sources]


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
        stack = [target.uid for target in targets]
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
    entry: Entry, gradients: dict[int, list[Any]], wanted: set[int]
) -> list[Any] | None:
    """The gradients of an op's outputs, zeros for those that have none; None if none has one."""
    results = []
    for output in entry.outputs:
        results.append(total(gradients.get(output.uid)))
        if output.uid in wanted and results[-1] is not None:
            gradients[output.uid] = [results[-1]]
        else:
            gradients.pop(output.uid, None)
    if all(result is None for result in results):
        return None
    needless = _NEEDS_NO_ZEROS.get(entry.type, ())
    for index, output in enumerate(entry.outputs):
        if results[index] is None and index not in needless:
            results[index] = _zeros(output)
    return results


def _call(entry: Entry, grads: list[Any], tape: Tape, wanted: set[int]) -> Sequence[Any]:
    if entry.backward is not None:
        return _as_list(entry.backward(*grads))
    function = gradient_of(entry.type)
    if function is None:
        return []
    skipped = tuple(
        index
        for index, tensor in enumerate(entry.inputs)
        if tensor.uid not in tape.made_by and tensor.uid not in wanted
    )
    scope = f"gradient_tape/{entry.scope}/" if entry.scope else "gradient_tape/"
    with context.name_scope(None if context.executing_eagerly() else scope):
        return _as_list(function(replace(entry, skip_input_indices=skipped), *grads))


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


def total(gradients: list[Any] | None) -> Any:
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


def _zeros(tensor: Any) -> Any:
    shape, dtype = shape_and_dtype(tensor)
    if tensor.dtype is resource or dtype is string:
        return None  # gradients of ops that give handles know what to do
    if not shape.is_fully_defined() or not dtype.is_array:
        return zeros_like(tensor)
    if not isinstance(tensor, EagerTensor) or not context.executing_eagerly():
        return arrays.zeros(shape, dtype)
    if (shape, dtype) not in _zeros_cache:
        _zeros_cache[shape, dtype] = _filled(0, shape, dtype)
    return _zeros_cache[shape, dtype]


def _filled(value: int, shape: Any, dtype: Any) -> Any:
    dims = constant(shape.as_list(), int32)
    return O.Fill(dims, constant(bool(value) if dtype.is_bool else value, dtype), index_type=int32)
