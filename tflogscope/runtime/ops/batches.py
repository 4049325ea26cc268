"""Blocks of space moved into the batch and back: SpaceToBatchND, BatchToSpaceND.

Told about: `core/kernels/spacetobatch_op.cc`, `batchtospace_op.cc`, `python/ops/array_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape

Array = NDArray[Any]
_ROWS = (
    "block_shape: Tblock_shape, {0}: T{0}; Tblock_shape=int32, T{0}=int32, "
    "Tblock_shape in index, T{0} in index"
)


def _known(i: Inference) -> tuple[list[int], list[list[int]]] | None:
    """The block, and what is added or cut off on either side, if both are constant."""
    block, sides = folded_value(i.inputs[1]), folded_value(i.inputs[2])
    if block is None or sides is None:
        return None
    return np.asarray(block).tolist(), np.asarray(sides).tolist()


def _dims(i: Inference, *, to_batch: bool) -> TensorShape:
    shape, known = i.shape(0), _known(i)
    if shape.rank is None:
        return UNKNOWN
    if known is None:
        return TensorShape([None] * shape.rank)
    block, sides = known
    dims, times = shape.as_list(), int(np.prod(block))
    if dims[0] is not None:
        dims[0] = dims[0] * times if to_batch else dims[0] // times
    for at, (size, (before, after)) in enumerate(zip(block, sides, strict=True), start=1):
        dim = dims[at]
        if dim is None:
            continue
        if not to_batch:
            dims[at] = dim * size - before - after
            continue
        dims[at], rest = divmod(dim + before + after, size)
        if rest:
            raise ValueError(
                f"Dimension size must be evenly divisible by {size} but is {dim + before + after}"
            )
    return TensorShape(dims)


@op(
    f"SpaceToBatchND(input: T, {_ROWS.format('paddings')}) -> output: T",
    shape=lambda i: _dims(i, to_batch=True),
)
def _space_to_batch(input: Array, block_shape: Array, paddings: Array) -> Array:
    block = [int(each) for each in block_shape]
    rest = input.ndim - 1 - len(block)
    padded = np.pad(input, [(0, 0), *paddings.tolist(), *[(0, 0)] * rest])
    sizes: list[int] = []
    for size, each in zip(padded.shape[1:], block, strict=False):
        if size % each:
            text = f"padded_shape[{len(sizes) // 2}]={size} is not divisible by block_shape"
            raise InvalidArgumentError(None, None, f"{text}[{len(sizes) // 2}]={each}")
        sizes += [size // each, each]
    count = len(block)
    parts = padded.reshape(padded.shape[0], *sizes, *padded.shape[1 + count :])
    inside, outside = [2 * k + 2 for k in range(count)], [2 * k + 1 for k in range(count)]
    moved = parts.transpose(*inside, 0, *outside, *range(1 + 2 * count, parts.ndim))
    return moved.reshape(-1, *sizes[::2], *padded.shape[1 + count :])


@op(
    f"BatchToSpaceND(input: T, {_ROWS.format('crops')}) -> output: T",
    shape=lambda i: _dims(i, to_batch=False),
)
def _batch_to_space(input: Array, block_shape: Array, crops: Array) -> Array:
    block = [int(each) for each in block_shape]
    count = len(block)
    parts = input.reshape(*block, -1, *input.shape[1:])
    order = [count]
    for at in range(count):
        order += [count + 1 + at, at]
    moved = parts.transpose(*order, *range(2 * count + 1, parts.ndim))
    sizes = [size * each for size, each in zip(input.shape[1:], block, strict=False)]
    whole = moved.reshape(moved.shape[0], *sizes, *input.shape[1 + count :])
    for at, (before, after) in enumerate(crops.tolist(), start=1):
        whole = whole.take(range(before, whole.shape[at] - after), axis=at)
    return whole


@gradient("SpaceToBatchND")
def _space_to_batch_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [call("BatchToSpaceND", grad, record.inputs[1], record.inputs[2]), None, None]


@gradient("BatchToSpaceND")
def _batch_to_space_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [call("SpaceToBatchND", grad, record.inputs[1], record.inputs[2]), None, None]
