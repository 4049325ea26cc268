"""What is known of a tensor's value before its graph has run.

`constant_value` follows the rules of TensorFlow's Python (`tensor_util.constant_value`), which
Python code asks to choose between ways to build a graph; `constant_shape` reads a tensor that holds
a shape, with None for what is not known. Shape functions, which are C++ in TensorFlow and fold
whole constant subgraphs, ask `folded_value`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import refining, telling
from tflogscope.runtime.errors import OpError
from tflogscope.runtime.operations import bind
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import EagerTensor, SymbolicTensor, Tensor

__all__ = ["Asked", "constant_shape", "constant_value", "folded_value", "noting_what_is_asked"]

Value = NDArray[Any]


class Asked(threading.local):
    """The tensors for whose value, or for whose value as a shape, a shape function has asked."""

    def __init__(self) -> None:
        self.values: list[Tensor] | None = None
        self.shapes: list[Tensor] | None = None


_asked = Asked()


@contextmanager
def noting_what_is_asked() -> Iterator[Asked]:
    """In this block what is asked for is noted."""
    _asked.values, _asked.shapes = [], []
    try:
        yield _asked
    finally:
        _asked.values = _asked.shapes = None


def constant_value(tensor: Any) -> Value | None:
    """The value, if it is eager or follows from constants by one of a few ops; else None."""
    if isinstance(tensor, EagerTensor):
        return tensor.value if tensor.dtype.is_array else None
    if not isinstance(tensor, SymbolicTensor):
        return None
    rule = _RULES.get(tensor.op.type)
    return None if rule is None else rule(tensor)


def folded_value(tensor: Tensor) -> Value | None:
    """The value, if the graph above it has only constants and stateless ops; else None.

    Told about: `EvaluateConstantTensor` of `core/common_runtime/eval_const_tensor.cc`.
    """
    if _asked.values is not None:
        _asked.values.append(tensor)
    if telling.listener is not None and isinstance(tensor, SymbolicTensor):
        refining.value_asked(tensor, _folded)
    return _folded(tensor)


def _folded(tensor: Tensor, values: dict[Any, Value] | None = None) -> Value | None:
    values = {} if values is None else values
    waiting = [tensor]
    while waiting:  # not by recursion: graphs are deep, and their paths many
        current = waiting[-1]
        if _key(current) not in values:
            value = _known_alone(current)
            if value is None:
                if not _may_be_folded(current):
                    return None  # then nothing below it is known either
                sources = current.op.inputs
                missing = [source for source in sources if _key(source) not in values]
                if missing:
                    waiting.extend(missing)
                    continue
                value = _computed(current, [values[_key(source)] for source in sources])
                if value is None:
                    return None
            values[_key(current)] = value
        waiting.pop()
    return values[_key(tensor)]


def _key(tensor: Tensor) -> Any:
    if not isinstance(tensor, SymbolicTensor) or getattr(tensor, "op", None) is None:
        return id(tensor)
    return tensor.op.name, tensor.value_index


def _known_alone(tensor: Tensor) -> Value | None:
    """What is known of it without running anything."""
    known = constant_value(tensor)
    if known is not None or not _may_be_folded(tensor):
        return known
    # grappler, whose nodes have no graph, does not look for single dimensions
    element = refining.shape_element(tensor) if hasattr(tensor.op, "graph") else None
    return None if element is None else np.array(element, tensor.dtype.as_numpy_dtype)


def _may_be_folded(tensor: Tensor) -> TypeGuard[SymbolicTensor]:
    if not isinstance(tensor, SymbolicTensor) or getattr(tensor, "op", None) is None:
        return False
    node = tensor.op
    return not node.definition.stateful and bool(node.inputs) and node.type not in _NOT_FOLDED


def _computed(tensor: SymbolicTensor, values: list[Value]) -> Value | None:
    node = tensor.op
    try:
        with np.errstate(all="ignore"):
            result = bind(node.definition, node.attributes)(*values)
    except (OpError, ValueError):
        return None
    picked = result[tensor.value_index] if isinstance(result, (tuple, list)) else result
    return np.asarray(picked)


def constant_shape(tensor: Tensor) -> TensorShape:
    """What is known of the shape that this vector of ints holds: −1 and what is not constant are
    None.

    Told about: `tensor_util.constant_value_as_shape`, `InferenceContext::MakeShapeFromShapeTensor`.
    """
    if _asked.shapes is not None:
        _asked.shapes.append(tensor)
    value = folded_value(tensor)
    if telling.listener is not None:
        refining.shape_asked(tensor, _folded)
    return _known_shape(tensor, value)


def _known_shape(tensor: Tensor, value: Value | None = None) -> TensorShape:
    if value is None:
        value = _folded(tensor)
    if value is not None:
        for dim in value.ravel():
            if dim < -1:
                raise ValueError(f"Invalid value in tensor used for shape: {dim}")
        return TensorShape([None if dim == -1 else int(dim) for dim in value.ravel()])
    if isinstance(tensor, SymbolicTensor) and getattr(tensor, "op", None) is not None:
        rule = _SHAPE_RULES.get(tensor.op.type)
        if rule is not None:
            return rule(tensor)
    return _of_some_rank(tensor)


def _of_some_rank(tensor: Tensor) -> TensorShape:
    """What only the length of the vector says: how many dimensions there are."""
    rank = tensor.shape[0] if tensor.shape.rank == 1 else None
    return TensorShape(None if rank is None or rank > _LARGEST_RANK else [None] * rank)


_LARGEST_RANK = 254  # `TensorShape::MaxDimensions`


_NOT_FOLDED = {
    "PyFunc",
    "EagerPyFunc",
    "If",
    "While",
    "PartitionedCall",
    "StatelessIf",
    "StatelessWhile",
    "Placeholder",
}

_RULES: dict[str, Callable[[SymbolicTensor], Value | None]] = {}
_SHAPE_RULES: dict[str, Callable[[SymbolicTensor], TensorShape]] = {}


def _rule(*types: str) -> Callable[[Callable[[SymbolicTensor], Value | None]], Any]:
    def register(function: Callable[[SymbolicTensor], Value | None]) -> Any:
        _RULES.update(dict.fromkeys(types, function))
        return function

    return register


@_rule("Const")
def _const(tensor: SymbolicTensor) -> Value | None:
    value: Value = tensor.op.attributes["value"]
    return value


@_rule("Shape")
def _shape(tensor: SymbolicTensor) -> Value | None:
    shape = tensor.op.inputs[0].shape
    return (
        np.array(shape.as_tuple(), tensor.dtype.as_numpy_dtype)
        if shape.is_fully_defined()
        else None
    )


@_rule("Size")
def _size(tensor: SymbolicTensor) -> Value | None:
    count = tensor.op.inputs[0].shape.num_elements()
    return None if count is None else np.array(count, tensor.dtype.as_numpy_dtype)


@_rule("Rank")
def _rank(tensor: SymbolicTensor) -> Value | None:
    rank = tensor.op.inputs[0].shape.rank
    return None if rank is None else np.array(rank, np.int32)


@_rule(
    "Range",
    "Cast",
    "Concat",
    "ConcatV2",
    "Pack",
    "Unpack",
    "Split",
    "Fill",
    "Equal",
    "NotEqual",
    "BroadcastTo",
)
def _from_inputs(tensor: SymbolicTensor) -> Value | None:
    node = tensor.op
    values = [constant_value(source) for source in node.inputs]
    if any(value is None for value in values):
        return None
    result = bind(node.definition, node.attributes)(*values)
    return np.asarray(result[tensor.value_index] if isinstance(result, (tuple, list)) else result)


@_rule("_Arg")
def _argument(tensor: SymbolicTensor) -> Value | None:
    """Of a function's body while a call's results are looked at: what the caller knows of it."""
    return folded_value(tensor.op.attributes["value"])


@_rule("StopGradient")
def _through(tensor: SymbolicTensor) -> Value | None:
    return constant_value(tensor.op.inputs[0])


def _shape_rule(type: str) -> Callable[[Callable[[SymbolicTensor], TensorShape]], Any]:
    def register(function: Callable[[SymbolicTensor], TensorShape]) -> Any:
        _SHAPE_RULES[type] = function
        return function

    return register


@_shape_rule("Shape")
def _shape_of(tensor: SymbolicTensor) -> TensorShape:
    return tensor.op.inputs[0].shape


@_shape_rule("ShapeN")
def _shape_of_one(tensor: SymbolicTensor) -> TensorShape:
    """`ShapeRefiner::ConstantPartialShape` looks through this one too."""
    return tensor.op.inputs[tensor.value_index].shape


@_shape_rule("Cast")
def _shape_cast(tensor: SymbolicTensor) -> TensorShape:
    return _known_shape(tensor.op.inputs[0])


@_shape_rule("Pack")
def _shape_pack(tensor: SymbolicTensor) -> TensorShape:
    dims: list[int | None] = []
    for element in tensor.op.inputs:
        value = _folded(element)
        dims.append(None if value is None or value < 0 else int(value))
    return TensorShape(dims)


@_shape_rule("ConcatV2")
def _shape_concat(tensor: SymbolicTensor) -> TensorShape:
    whole = TensorShape([])
    for part in tensor.op.inputs[:-1]:
        whole = whole.concatenate(_known_shape(part))
    return whole


@_shape_rule("StridedSlice")
def _shape_slice(tensor: SymbolicTensor) -> TensorShape:
    node = tensor.op
    source = _known_shape(node.inputs[0])
    limits = [constant_value(limit) for limit in node.inputs[1:4]]
    masks = [
        node.attributes[f"{which}_mask"]
        for which in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    ]
    if source.rank is None or any(limit is None for limit in limits) or any(masks[2:]):
        return _of_some_rank(tensor)
    begin, end, stride = (int(limit[0]) for limit in limits)  # type: ignore[index]
    return TensorShape(
        source.as_list()[
            slice(None if masks[0] & 1 else begin, None if masks[1] & 1 else end, stride)
        ]
    )


@_shape_rule("Slice")
def _shape_part(tensor: SymbolicTensor) -> TensorShape:
    """Only grappler looks through this one."""
    node = tensor.op
    source = _known_shape(node.inputs[0])
    begin, size = (constant_value(limit) for limit in node.inputs[1:3])
    if hasattr(node, "graph") or source.rank is None or begin is None or size is None:
        return _of_some_rank(tensor)
    first, count = int(begin[0]), int(size[0])
    return TensorShape(source.as_list()[first : None if count == -1 else first + count])
