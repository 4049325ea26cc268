"""Products and linear equations. See `math_grad.py`, `linalg_grad.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape, broadcast, known
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.matrices import matmul
from tflogscope.runtime.library.numbers import reduce_sum
from tflogscope.runtime.ops.rules import invalid, skipped


def _product_shape(x: TensorShape, y: TensorShape, swap_x: bool, swap_y: bool) -> TensorShape:
    if x.rank is None or y.rank is None:
        return UNKNOWN
    inner, other = x[-2 if swap_x else -1], y[-1 if swap_y else -2]
    if known(inner) and known(other) and inner != other:
        raise ValueError(f"Dimensions must be equal, but are {inner} and {other}")
    rows, columns = x[-1 if swap_x else -2], y[-2 if swap_y else -1]
    return broadcast(x[:-2], y[:-2]).concatenate([rows, columns])


def _product(x: Any, y: Any, swap_x: bool, swap_y: bool) -> Any:
    x = np.swapaxes(x, -1, -2) if swap_x else x
    y = np.swapaxes(y, -1, -2) if swap_y else y
    if x.shape[-1] != y.shape[-2]:
        raise invalid(f"Matrix size-incompatible: {x.shape} and {y.shape}")
    return np.asarray(np.matmul(x, y), x.dtype)


def _matmul_shape(i: Inference) -> TensorShape:
    x, y = i.shape(0).with_rank(2), i.shape(1).with_rank(2)
    return _product_shape(x, y, i["transpose_a"], i["transpose_b"])


def _swapped(
    product: Any, x: Any, y: Any, g: Any, swap_x: bool, swap_y: bool, skipped: Any
) -> list[Any]:
    """The gradients of a product of `x` and `y`, which it may have turned."""
    gx = gy = None
    if 0 not in skipped:
        gx = product(y, g, swap_y, True) if swap_x else product(g, y, False, not swap_y)
    if 1 not in skipped:
        gy = product(g, x, True, swap_x) if swap_y else product(x, g, not swap_x, False)
    return [gx, gy]


def _matmul_gradient(op: Any, g: Any) -> list[Any]:
    def product(a: Any, b: Any, swap_a: bool, swap_b: bool) -> Any:
        return O.MatMul(a, b, transpose_a=swap_a, transpose_b=swap_b)

    (a, b), swap_a, swap_b = op.inputs, op.get_attr("transpose_a"), op.get_attr("transpose_b")
    return _swapped(product, a, b, g, swap_a, swap_b, skipped(op))


def _batch_gradient(op: Any, g: Any) -> list[Any]:
    x, y = op.inputs
    gx, gy = _swapped(matmul, x, y, g, op.get_attr("adj_x"), op.get_attr("adj_y"), ())
    if x.shape.is_fully_defined() and x.shape[:-2] == y.shape[:-2]:
        return [gx, gy]
    sx, sy = arrays.shape(x), arrays.shape(y)
    rx, ry = O.BroadcastGradientArgs(sx[:-2], sy[:-2])
    return [arrays.reshape(reduce_sum(gx, rx), sx), arrays.reshape(reduce_sum(gy, ry), sy)]


op("MatMul(a: T, b: T; transpose_a=False, transpose_b=False, grad_a=False, grad_b=False) -> "
   "product: T", _matmul_shape,
   lambda a, b, transpose_a, transpose_b: _product(a, b, transpose_a, transpose_b),
   _matmul_gradient)  # fmt: skip
op("BatchMatMulV2(x: T, y: T; adj_x=False, adj_y=False) -> output: T",
   lambda i: _product_shape(i.shape(0), i.shape(1), i["adj_x"], i["adj_y"]),
   lambda x, y, adj_x, adj_y: _product(x, y, adj_x, adj_y), _batch_gradient)  # fmt: skip


# -- Einsum


def _einsum_shape(i: Inference) -> TensorShape:
    if any(each.shape.rank is None for each in i.inputs):
        return UNKNOWN
    terms, output = i["equation"].split("->")
    sizes: dict[str, Any] = {}
    for term, each in zip(terms.split(","), i.inputs, strict=True):
        for label, dim in zip(term, each.shape.dims, strict=True):
            before = sizes.get(label)
            sizes[label] = dim if before is None or (not known(before) and known(dim)) else before
    return TensorShape([sizes[label] for label in output])


def _einsum(*inputs: Any, equation: str) -> Any:
    return np.asarray(np.einsum(equation, *inputs, optimize=True), inputs[0].dtype)


def _einsum_gradient(op: Any, g: Any) -> list[Any]:
    """NB: of two tensors, without repeated labels and `...` that stands for different shapes."""
    given, output = op.get_attr("equation").split("->")
    if "," not in given:
        raise NotInThisRuntime("the gradient of an einsum of one tensor")
    (x, y), (one, other) = op.inputs, given.split(",")
    gx = O.Einsum([g, y], equation=f"{output},{other}->{one}")
    return [gx, O.Einsum([g, x], equation=f"{output},{one}->{other}")]


op("Einsum(inputs: N*T; equation) -> output: T", _einsum_shape, _einsum, _einsum_gradient)


# -- diagonals


def _diag_shape(i: Inference) -> TensorShape:
    shape = i.shape(0)
    return UNKNOWN if shape.dims is None else TensorShape([*shape.dims, shape.dims[-1]])


def _diag(diagonal: Any, k: Any, *_: Any) -> Any:
    if k:
        raise NotInThisRuntime("a diagonal beside the main one")
    return np.eye(diagonal.shape[-1], dtype=diagonal.dtype) * diagonal[..., None]


op("MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T; "
   "align='RIGHT_LEFT') -> output: T", _diag_shape, _diag)  # fmt: skip
