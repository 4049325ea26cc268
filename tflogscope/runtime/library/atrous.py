"""Convolutions whose filters have gaps (dilations), by way of the batch: each block of pixels is
spread over as many images, which are convolved without gaps.

Told about: `_WithSpaceToBatch` of `python/ops/nn_ops.py`, `required_space_to_batch_paddings` of
`python/ops/array_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.joining import concat, stack
from tflogscope.runtime.ops.call import call, generated
from tflogscope.runtime.tensors import Tensor

__all__ = ["batch_to_space", "space_to_batch", "with_space_to_batch"]

space_to_batch = generated("SpaceToBatchND")
batch_to_space = generated("BatchToSpaceND")


def with_space_to_batch(
    input: Tensor,
    filters: Any,
    padding: str,
    dilations: Sequence[int],
    convolve: Callable[[Tensor], Tensor],
) -> Tensor:
    """`convolve`, which pads nothing, with filters whose elements are `dilations` apart; channels
    come last.
    """
    rate = convert_to_tensor(np.array(dilations, np.int32), dtypes.int32, name="dilation_rate")
    count = len(dilations)
    base: Any = np.zeros([count, 2], np.int32)
    if padding == "SAME":
        shape = convert_to_tensor(filters.shape.as_list(), name="filter_shape")
        extra = (np.asarray(constant_value(shape))[:count] - 1) * np.array(dilations, np.int32)
        base = stack([[each // 2, each - each // 2] for each in extra])
    space: Any = input.shape.as_list()[1:-1]
    if None in space:
        whole = arrays.shape(input)
        space = stack([whole[at] for at in range(1, count + 1)])
    paddings, crops = _required_paddings(space, rate, base, count)
    rate, paddings, crops = (_adjusted(each) for each in (rate, paddings, crops))
    blocks = call("SpaceToBatchND", input, rate, paddings)
    return call("BatchToSpaceND", convolve(blocks), rate, crops)


def _adjusted(rows: Tensor) -> Any:
    """A row for each dimension that is moved: all there are, since channels come last. A constant
    is made a tensor again where it is used.
    """
    value = constant_value(rows)
    return concat([rows[0 : rows.shape[0]]], 0) if value is None else np.asarray(value)


def _required_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any, count: int
) -> tuple[Tensor, Tensor]:
    """What to add on either side so that blocks fit, and what of it to cut off again."""
    with op_scope(None, "required_space_to_batch_paddings"):
        size = convert_to_tensor(input_shape, dtypes.int32, name="input_shape")
        block = convert_to_tensor(block_shape, dtypes.int32, name="block_shape")
        base = convert_to_tensor(base_paddings, dtypes.int32, name="base_paddings")
        values = [constant_value(each) for each in (size, block, base)]
        if all(value is not None for value in values):
            size, block, base = (np.asarray(value) for value in values)
        start, end = base[:, 0], base[:, 1]
        missing = (block - (size + start + end) % block) % block
        after = end + missing
        return (
            stack([[start[at], after[at]] for at in range(count)], name="paddings"),
            stack([[0, missing[at]] for at in range(count)], name="crops"),
        )
