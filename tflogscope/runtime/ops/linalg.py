"""Products of matrices: MatMul, BatchMatMulV2, Einsum, and Transpose.

Told about: `core/ops/math_ops.cc`, `core/kernels/mkl/mkl_matmul_op.cc` (the texts of its errors),
`core/kernels/linalg/einsum_op_impl.h`, `python/ops/math_grad.py`, `python/ops/linalg_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.dtypes import int32 as int32_
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays, reductions
from tflogscope.runtime.library import linalg as lib
from tflogscope.runtime.library.elementary import conj
from tflogscope.runtime.library.joining import concat, stack
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.broadcasting import broadcast_gradient_args
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, broadcast_shapes, dims_text
from tflogscope.runtime.tensors import Tensor

Array = NDArray[Any]
_TYPES = (
    "bfloat16 float16 float32 float64 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128"
)


# -- MatMul


def _matmul_shape(i: Inference) -> TensorShape:
    for index in (0, 1):
        if i.shape(index).rank not in (None, 2):
            raise ValueError(f"Shape must be rank 2 but is rank {i.shape(index).rank}")
    (rows, inner), (other, columns) = (
        _oriented(i, index, flag) for index, flag in enumerate(("transpose_a", "transpose_b"))
    )
    if inner is not None and other is not None and inner != other:
        raise ValueError(f"Dimensions must be equal, but are {inner} and {other}")
    return TensorShape([rows, columns])


def _oriented(i: Inference, index: int, flag: str) -> list[int | None]:
    shape = i.shape(index)
    dims: list[int | None] = [None, None] if shape.rank is None else shape.as_list()
    return dims[::-1] if i.attributes[flag] else dims


@op(
    f"MatMul(a: T, b: T; transpose_a=False, transpose_b=False, T in {_TYPES}) -> product: T",
    shape=_matmul_shape,
)
def _matmul(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Array:
    for index, each in enumerate((a, b)):
        if each.ndim != 2:
            raise InvalidArgumentError(None, None, f"In[{index}] ndims must be >= 2")
    left, right = a.T if transpose_a else a, b.T if transpose_b else b
    if left.shape[1] != right.shape[0]:
        text = f"Matrix size-incompatible: In[0]: {dims_text(a.shape)}, In[1]: {dims_text(b.shape)}"
        raise InvalidArgumentError(None, None, text)
    return left @ right


@gradient("MatMul")
def _matmul_gradient(record: OpRecord, grad: Any) -> tuple[Any, Any]:
    """Products with the other factor; a tape that wants only one of them gets only that one."""
    ta, tb = record.get_attr("transpose_a"), record.get_attr("transpose_b")
    skipped = getattr(record, "skip_input_indices", None) or ()
    want_a, want_b = 0 not in skipped or 1 in skipped, 1 not in skipped
    b = conj(record.inputs[1]) if want_a else None
    a = conj(record.inputs[0]) if want_b else None
    return (
        _gradient_of_a(grad, b, ta=ta, tb=tb) if want_a else None,
        _gradient_of_b(grad, a, ta=ta, tb=tb) if want_b else None,
    )


def _gradient_of_a(grad: Any, b: Any, *, ta: bool, tb: bool) -> Tensor:
    if ta:
        return call("MatMul", b, grad, transpose_a=tb, transpose_b=True)
    return call("MatMul", grad, b, transpose_b=not tb)


def _gradient_of_b(grad: Any, a: Any, *, ta: bool, tb: bool) -> Tensor:
    if tb:
        return call("MatMul", grad, a, transpose_a=True, transpose_b=ta)
    return call("MatMul", a, grad, transpose_a=not ta)


# -- stacks of matrices


def _batch_shape(i: Inference) -> TensorShape:
    x, y = i.shape(0), i.shape(1)
    if x.rank is None or y.rank is None:
        return UNKNOWN
    for shape in (x, y):
        if shape.rank < 2:  # type: ignore[operator]
            raise ValueError(f"Shape must be at least rank 2 but is rank {shape.rank}")
    rows, inner = x[-2:].as_list()[:: -1 if i.attributes["adj_x"] else 1]
    other, columns = y[-2:].as_list()[:: -1 if i.attributes["adj_y"] else 1]
    if inner is not None and other is not None and inner != other:
        raise ValueError(f"Dimensions must be equal, but are {inner} and {other}")
    return broadcast_shapes(x[:-2], y[:-2]).concatenate([rows, columns])


def _adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


@op(
    "BatchMatMulV2(x: T, y: T; adj_x=False, adj_y=False, T in number) -> output: T",
    shape=_batch_shape,
)
def _batch_matmul(x: Array, y: Array, adj_x: bool, adj_y: bool) -> Array:
    left, right = _adjoint(x) if adj_x else x, _adjoint(y) if adj_y else y
    for index, each in enumerate((x, y)):
        if each.ndim < 2:
            raise InvalidArgumentError(None, None, f"In[{index}] ndims must be >= 2: {each.ndim}")
    try:
        np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        text = (
            f"In[0] and In[1] must have compatible batch dimensions: {dims_text(x.shape)} vs. "
            f"{dims_text(y.shape)}"
        )
        raise InvalidArgumentError(None, None, text) from None
    if left.shape[-1] != right.shape[-2]:
        # NB: without oneDNN TensorFlow says nothing of the two flags.
        text = (
            f"Matrix size-incompatible: In[0]: {dims_text(x.shape)}, In[1]: {dims_text(y.shape)} "
            f"{adj_x:d} {adj_y:d}"
        )
        raise InvalidArgumentError(None, None, text)
    product: Array = np.matmul(left, right)
    return product


@op(
    "BatchMatMulV3(x: Ta, y: Tb; Tout, adj_x=False, adj_y=False) -> output: Tout",
    shape=_batch_shape,
)
def _batch_matmul_v3(x: Array, y: Array, Tout: DType, adj_x: bool, adj_y: bool) -> Array:
    target = Tout.as_numpy_dtype
    return _batch_matmul(x.astype(target), y.astype(target), adj_x, adj_y)  # type: ignore[no-any-return]


def _batch_matmul_gradient(record: OpRecord, grad: Any) -> tuple[Any, Any]:
    x, y = record.inputs
    adj_x, adj_y = record.get_attr("adj_x"), record.get_attr("adj_y")
    if adj_x:
        grad_x = lib.matmul(y, grad, adjoint_a=adj_y, adjoint_b=True)
    else:
        grad_x = lib.matmul(grad, y, adjoint_b=not adj_y)
    if adj_y:
        grad_y = lib.matmul(grad, x, adjoint_a=True, adjoint_b=adj_x)
    else:
        grad_y = lib.matmul(x, grad, adjoint_a=not adj_x)
    if not _batches_stretched(x.shape, y.shape):
        return grad_x, grad_y
    sx, sy = arrays.shape(x), arrays.shape(y)
    rx, ry = broadcast_gradient_args(sx[:-2], sy[:-2])
    grad_x = arrays.reshape(reductions.reduce_sum(grad_x, rx), sx)
    return grad_x, arrays.reshape(reductions.reduce_sum(grad_y, ry), sy)


def _batches_stretched(x: TensorShape, y: TensorShape) -> bool:
    """May one of the stacks have been broadcast?"""
    if x.rank is not None and y.rank is not None and x.rank <= 2 and y.rank <= 2:
        return False
    first, second = x[:-2], y[:-2]
    return not (first.is_fully_defined() and second.is_fully_defined() and first == second)


gradient("BatchMatMulV2")(_batch_matmul_gradient)
gradient("BatchMatMulV3")(_batch_matmul_gradient)

# -- Transpose


def transpose_shape(i: Inference) -> TensorShape:
    """The dimensions in that order; of an unknown shape the order tells how many."""
    perm, shape = folded_value(i.inputs[1]), i.shape(0)
    if shape.rank is None:
        count = i.shape(1).num_elements()
        return UNKNOWN if count is None else TensorShape([None] * count)
    if perm is None:
        return TensorShape([None] * shape.rank)
    if len(perm) != shape.rank:
        raise ValueError(f"Dimension must be {shape.rank} but is {len(perm)}")
    dims = shape.as_list()
    for k in perm:
        if not -shape.rank <= k < shape.rank:
            raise ValueError(f"perm dim {k} is out of range of input rank {shape.rank}")
    return TensorShape([dims[int(k)] for k in perm])


@op("Transpose(x: T, perm: Tperm; Tperm=int32) -> y: T", shape=transpose_shape)
def transposed(x: Array, perm: Array) -> Array:
    """The dimensions in that order. Raises InvalidArgumentError for what is no order of them."""
    if len(perm) != x.ndim:
        text = (
            f"transpose expects a vector of size {x.ndim}. But input(1) is a vector of size "
            f"{len(perm)}"
        )
        raise InvalidArgumentError(None, None, text)
    order = [int(k) + x.ndim if k < 0 else int(k) for k in perm]
    for k in order:
        if not 0 <= k < x.ndim:
            raise InvalidArgumentError(None, None, f"{k} is out of range [0 .. {x.ndim})")
    missing = next((k for k in range(x.ndim) if k not in order), None)
    if missing is not None:
        text = f"{missing} is missing from {{{','.join(map(str, order))}}}."
        raise InvalidArgumentError(None, None, text)
    return np.array(np.transpose(x, order), order="C")  # NB: ascontiguousarray has no scalars


@gradient("Transpose")
def _transpose_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [lib.transpose(grad, arrays.invert_permutation(record.inputs[1])), None]


# -- Einsum


def _einsum_shape(i: Inference) -> TensorShape:
    inputs, output = i.attributes["equation"].split("->")
    sizes: dict[str, int | None] = {}
    ellipsis = TensorShape([])
    for index, subscripts in enumerate(inputs.split(",")):
        before, dots, after = subscripts.partition("...")
        dims = i.shape(index) if dots else i.shape_of_rank(index, len(before))
        if dims.rank is None:
            ellipsis = UNKNOWN
            sizes = dict.fromkeys(before + after) | sizes
            continue
        if dims.rank < len(before + after):
            text = f"Shape must be at least rank {len(before + after)} but is rank {dims.rank}"
            raise ValueError(text)
        ellipsis = broadcast_shapes(ellipsis, dims[len(before) : len(dims) - len(after)])
        for letter, dim in zip(
            before + after, [*dims[: len(before)], *dims[len(dims) - len(after) :]], strict=False
        ):
            if sizes.get(letter) is None:
                sizes[letter] = dim
            elif dim is not None and dim != sizes[letter]:
                raise ValueError(f"Dimensions must be equal, but are {sizes[letter]} and {dim}")
    before, dots, after = output.partition("...")
    if dots and ellipsis.rank is None:
        return UNKNOWN
    middle = ellipsis.as_list() if dots else []
    return TensorShape([*(sizes[k] for k in before), *middle, *(sizes[k] for k in after)])


@op("Einsum(inputs: N*T; equation) -> output: T", shape=_einsum_shape)
def _einsum(*inputs: Array, equation: str) -> Array:
    given, output = equation.split("->")
    try:
        letters = output.replace("...", "")
        if len(inputs) == 1 and len(set(letters)) < len(letters):
            return _onto_diagonal(inputs[0], given, output)
        for index, (term, x) in enumerate(zip(given.split(","), inputs, strict=True)):
            if "." not in term and len(term) != x.ndim:
                text = f"Expected input {index} to have rank {len(term)} but got: {x.ndim}"
                raise InvalidArgumentError(None, None, text)
        result = np.einsum(equation, *inputs, optimize=len(inputs) > 1)
    except ValueError as error:
        text = _different_sizes(inputs, given.split(",")) or str(error)
        raise InvalidArgumentError(None, None, text) from None
    return np.asarray(result, inputs[0].dtype, order="C")


def _different_sizes(inputs: tuple[Array, ...], terms: list[str]) -> str | None:
    """What TensorFlow says of a letter that stands for two sizes; None if there is none."""
    sizes: dict[str, int] = {}
    for term, x in zip(terms, inputs, strict=True):
        for axis, (letter, size) in enumerate(zip(term, x.shape, strict=False)):
            if "." not in term and sizes.setdefault(letter, size) != size:
                return (
                    f"Expected dimension {sizes[letter]} at axis {axis} of the input shaped "
                    f"{dims_text(x.shape)} but got dimension {size}"
                )
    return None


def _onto_diagonal(x: Array, given: str, output: str) -> Array:
    """The inverse of taking a diagonal: `i->ii`."""
    sizes = dict(zip(given, x.shape, strict=True))
    result = np.zeros([sizes[letter] for letter in output], x.dtype)
    np.einsum(f"{output}->{given}", result)[...] = x
    return result


@gradient("Einsum")
def _einsum_gradient(record: OpRecord, grad: Any) -> Any:
    given, output = record.get_attr("equation").split("->")
    if len(record.inputs) == 1:
        shape = arrays.shape(record.inputs[0])
        lost = set(given) - set(output + ".")
        if not lost:
            return [call("Einsum", [grad], equation=f"{output}->{given}")]
        return [_spread(grad, output, given, shape, lost)]
    x, y = (conj(each) for each in record.inputs)
    x_subscripts, y_subscripts = given.split(",")
    if "..." in output:
        x_subscripts += "" if "..." in x_subscripts else "..."
        y_subscripts += "" if "..." in y_subscripts else "..."
    x_shape, y_shape = arrays.shape(x), arrays.shape(y)
    grad_x = _gradient_of_factor(grad, y, x_shape, x_subscripts, y_subscripts, output)
    grad_y = _gradient_of_factor(grad, x, y_shape, y_subscripts, x_subscripts, output)
    if "..." not in output:
        return [grad_x, grad_y]
    return _summed_over_stretched(
        record, (grad_x, grad_y), (x_shape, y_shape), (x_subscripts, y_subscripts)
    )


def _gradient_of_factor(
    grad: Any, other: Any, shape: Any, mine: str, others: str, output: str
) -> Any:
    lost = set(mine) - set(output + others + ".")
    kept = "".join(letter for letter in mine if letter not in lost)
    found = call("Einsum", [grad, other], equation=f"{output},{others}->{kept}")
    return _spread(found, kept, mine, shape, lost) if lost else found


def _spread(grad: Any, output: str, given: str, shape: Any, lost: set[str]) -> Any:
    """The gradient, repeated along the dimensions that were summed over."""
    letters = "".join(lost)
    axes = [_axis(given, letter) for letter in letters]
    dims = stack([shape[axis] for axis in axes])
    repeats = len(set(given)) + len(set(output)) < len(given) + len(output)
    if not repeats and "".join(letter for letter in given if letter not in lost) == output:
        ones = reductions.reduced_shape(shape, convert_to_tensor(axes))
        return call("BroadcastTo", arrays.reshape(grad, ones), shape)
    whole = concat([dims, arrays.shape(grad)], axis=0)
    ones = concat([arrays.ones(len(lost), int32_), arrays.shape(grad)], axis=0)
    spread = call("BroadcastTo", arrays.reshape(grad, ones), whole)
    return call("Einsum", [spread], equation=f"{letters + output}->{given}")


def _axis(subscripts: str, letter: str) -> int:
    before, _, after = subscripts.partition("...")
    return before.index(letter) if letter in before else after.index(letter) - len(after)


def _summed_over_stretched(record: OpRecord, grads: Any, shapes: Any, subscripts: Any) -> list[Any]:
    ranges = []
    for text in subscripts:
        before, _, after = text.partition("...")
        ranges.append((len(before), -len(after) or None))
    (x_begin, x_end), (y_begin, y_end) = ranges
    x, y = (each.shape for each in record.inputs)
    if x.is_fully_defined() and y.is_fully_defined() and x[x_begin:x_end] == y[y_begin:y_end]:
        return list(grads)
    rx, ry = broadcast_gradient_args(shapes[0][x_begin:x_end], shapes[1][y_begin:y_end])
    return [
        arrays.reshape(reductions.reduce_sum(grad, begin + axes), shape)
        for grad, begin, axes, shape in zip(
            grads, (x_begin, y_begin), (rx, ry), shapes, strict=True
        )
    ]
