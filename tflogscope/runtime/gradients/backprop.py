"""Backwards over a tape: from the targets to the sources, each op's gradient function called once.

An op's turn comes when the gradients of all tensors that it made are complete, that is, when every
op that used them has had its turn. Gradients that reach a tensor on several ways are added up
(`AddN`).

Told about: `GradientTape::ComputeGradient` of `eager/tape.h`, `_gradient_function` and the *vspace*
of `eager/backprop.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tflogscope.runtime import context, telling
from tflogscope.runtime.dtypes import DType, int32, resource, string
from tflogscope.runtime.gradients.registry import gradient_function
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tape import Entry, Tape
from tflogscope.runtime.tensors import EagerTensor, Tensor

__all__ = ["backpropagate", "ones_like", "shape_and_dtype", "zeros_like", "zeros_of_variable"]

NEEDS_NO_ZEROS: Mapping[str, frozenset[int]] = {
    "SoftmaxCrossEntropyWithLogits": frozenset({1}),
    "SparseSoftmaxCrossEntropyWithLogits": frozenset({1}),
    "FusedBatchNorm": frozenset({1, 2, 3, 4}),
}
"""Outputs for which the gradient function takes None: no zeros are made for them."""


def backpropagate(
    tape: Tape,
    targets: Sequence[Tensor],
    sources: Sequence[Tensor],
    output_gradients: Sequence[Any] | None = None,
) -> list[Any]:
    """The gradient of the targets (together) with respect to each source; None where none flows.

    `output_gradients`: those of the targets, instead of ones. Raises LookupError for an op without
    a gradient function.
    """
    plan = _Plan(tape, targets)
    wanted = {source.uid for source in sources}
    gradients = _initial(tape, targets, sources, output_gradients)
    ready = deque(entry for entry in plan.entries if not plan.missing.get(id(entry)))
    listener = telling.listener
    if listener is not None:
        listener.gradients_wanted()
    while ready:
        entry = ready.popleft()
        grads, has_gradient = _of_outputs(entry, gradients, wanted)
        if listener is not None and has_gradient:
            listener.gradient_called(entry.type)
        input_gradients = (
            _call(entry, grads, tape, wanted) if has_gradient else [None] * len(entry.inputs)
        )
        for tensor, grad in zip(entry.inputs, input_gradients, strict=False):
            if grad is not None and tensor.uid in tape.made_by:  # a source may not be watched
                gradients.setdefault(tensor.uid, []).append(grad)
        ready.extend(plan.done(entry))
    if listener is not None:
        listener.gradients_found(len(gradients))
    return [_total(gradients.get(source.uid)) for source in sources]


class _Plan:
    """The entries between targets and what the tape watches, and how many tensors each still waits
    for.
    """

    def __init__(self, tape: Tape, targets: Sequence[Tensor]) -> None:
        self._made_by = tape.made_by
        self.entries: list[Entry] = []
        self._uses: dict[int, int] = {}
        self.missing: dict[int, int] = {}
        self._collect([target.uid for target in targets])
        for tensor in self._uses:
            maker = self._made_by.get(tensor)
            if maker is not None:
                self.missing[id(maker)] = self.missing.get(id(maker), 0) + 1

    def _collect(self, stack: list[int]) -> None:
        seen: set[int] = set()
        while stack:
            entry = self._made_by.get(stack.pop())
            if entry is None or id(entry) in seen:
                continue
            seen.add(id(entry))
            self.entries.append(entry)
            for tensor in entry.inputs:
                key = tensor.uid
                if key not in self._uses and key in self._made_by:
                    stack.append(key)
                self._uses[key] = self._uses.get(key, 0) + 1

    def done(self, entry: Entry) -> list[Entry]:
        """The entries whose turn it is, now that this one has had its own."""
        freed: list[Entry] = []
        for tensor in entry.inputs:
            key = tensor.uid
            self._uses[key] -= 1
            maker = self._made_by.get(key)
            if self._uses[key] or maker is None:
                continue
            self.missing[id(maker)] -= 1
            if not self.missing[id(maker)]:
                freed.append(maker)
        return freed


def _initial(
    tape: Tape,
    targets: Sequence[Tensor],
    sources: Sequence[Tensor],
    output_gradients: Sequence[Any] | None,
) -> dict[int, list[Any]]:
    gradients: dict[int, list[Any]] = {}
    source_ids = {source.uid for source in sources}
    for index, target in enumerate(targets):
        key = target.uid
        given = None if output_gradients is None else output_gradients[index]
        if given is not None:
            gradients.setdefault(key, []).append(given)
        elif tape.made_by.get(key) is not None or key in source_ids:
            gradients.setdefault(key, []).append(_ones(target))
    return gradients


def _of_outputs(
    entry: Entry, gradients: dict[int, list[Any]], wanted: set[int]
) -> tuple[list[Any], bool]:
    """The gradients of what the op made; zeros for outputs that the targets do not depend on."""
    results: list[Any] = []
    zeros: list[int] = []
    for index, output in enumerate(entry.outputs):
        key = output.uid
        found = gradients.get(key)
        if found is None:
            if index not in NEEDS_NO_ZEROS.get(entry.type, ()):
                zeros.append(index)
            results.append(None)
            continue
        total = _total(found)
        if key in wanted:
            gradients[key] = [total]
        else:
            del gradients[key]
        results.append(total)
    has_gradient = any(result is not None for result in results)
    if has_gradient:
        for index in zeros:
            results[index] = _zeros(entry.outputs[index])
    return results, has_gradient


def _total(gradients: list[Any] | None) -> Any:
    if not gradients:
        return None
    if len(gradients) == 1:
        return gradients[0]
    from tflogscope.runtime.indexed_slices import add_gradients

    return add_gradients(gradients)


@dataclass(slots=True)
class DifferentiatedOp:
    """What a gradient function sees of an op on a tape; `skip_input_indices`: inputs of which no
    gradient is wanted.
    """

    entry: Entry
    skip_input_indices: tuple[int, ...]

    @property
    def type(self) -> str:
        """The op's type."""
        return self.entry.type

    @property
    def name(self) -> str:
        """The node's name, or the type."""
        return self.entry.type if self.entry.record is None else self.entry.record.name

    @property
    def inputs(self) -> Sequence[Tensor]:
        """Its inputs."""
        return self.entry.inputs

    @property
    def outputs(self) -> Sequence[Tensor]:
        """Its outputs."""
        return self.entry.outputs

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Its attributes."""
        return {} if self.entry.record is None else self.entry.record.attributes

    def get_attr(self, name: str) -> Any:
        """One attribute. Raises ValueError if it has none of that name."""
        if name not in self.attributes:
            raise ValueError(f"{self.type} has no attribute {name}")
        return self.attributes[name]


def _call(entry: Entry, grads: list[Any], tape: Tape, wanted: set[int]) -> Sequence[Any]:
    """The gradients of the op's inputs."""
    if entry.backward is not None:
        return _as_list(entry.backward(*grads))
    function = gradient_function(entry.type)
    if function is None:
        return [None] * len(entry.inputs)
    skipped = tuple(
        index
        for index, tensor in enumerate(entry.inputs)
        if tensor.uid not in tape.made_by and tensor.uid not in wanted
    )
    scope = f"gradient_tape/{entry.scope}/" if entry.scope else "gradient_tape/"
    with context.name_scope(None if context.executing_eagerly() else scope):
        return _as_list(function(DifferentiatedOp(entry, skipped), *grads))


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


# -- ones and zeros ------------------------------------------------------------

_zeros_cache: dict[Any, Tensor] = {}


def shape_and_dtype(tensor: Tensor) -> tuple[TensorShape, DType]:
    """Those of a gradient of this tensor: of a variable's handle, the variable's."""
    if tensor.dtype is resource and tensor.handle_data is not None:
        return tensor.handle_data.shape, tensor.handle_data.dtype
    return tensor.shape, tensor.dtype


def zeros_like(tensor: Tensor) -> Any:
    """Zeros, made by an op. Told about: `default_gradient.zeros_like`."""
    from tflogscope.runtime.library import arrays

    if tensor.dtype is resource:
        return arrays.zeros(*shape_and_dtype(tensor))
    return arrays.zeros_like(tensor)


def zeros_of_variable(handle: Tensor, like: Tensor) -> Any:
    """Zeros in the shape that the variable has when they are made; the dtype is known from the
    handle `like`.
    """
    from tflogscope.runtime.library import arrays
    from tflogscope.runtime.ops.call import call

    return arrays.zeros(call("VariableShape", handle), shape_and_dtype(like)[1])


def ones_like(tensor: Tensor) -> Any:
    """Ones, made by an op. Told about: `default_gradient.ones_like`."""
    from tflogscope.runtime.library import arrays

    if tensor.dtype is resource:
        return arrays.ones(*shape_and_dtype(tensor))
    return arrays.ones_like(tensor)


def _ones(tensor: Tensor) -> Any:
    """The gradient of a target with respect to itself."""
    from tflogscope.runtime.conversion import constant
    from tflogscope.runtime.library import arrays

    shape, dtype = shape_and_dtype(tensor)
    if not shape.is_fully_defined():
        return ones_like(tensor)
    if not context.executing_eagerly():
        return arrays.ones(shape, dtype)
    return constant(1, dtype) if shape.rank == 0 else _filled(1, shape, dtype)


def _zeros(tensor: Tensor) -> Any:
    """The gradient of an output on which the targets do not depend. Eager zeros are kept for the
    next time.
    """
    from tflogscope.runtime.library import arrays

    shape, dtype = shape_and_dtype(tensor)
    if tensor.dtype is resource or dtype is string:
        return None  # gradients of ops that give handles know what to do
    if not shape.is_fully_defined() or not dtype.is_array:
        return zeros_like(tensor)
    if not isinstance(tensor, EagerTensor) or not context.executing_eagerly():
        return arrays.zeros(shape, dtype)
    key = (shape, dtype)
    if key not in _zeros_cache:
        _zeros_cache[key] = _filled(0, shape, dtype)
    return _zeros_cache[key]


def _filled(value: int, shape: TensorShape, dtype: DType) -> Tensor:
    from tflogscope.runtime.conversion import constant

    dims = constant(shape.as_list(), int32)
    return context.execute(
        "Fill",
        [dims, constant(bool(value) if dtype.is_bool else value, dtype)],
        {"index_type": int32},
    )[0]
