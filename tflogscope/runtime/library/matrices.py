"""Products, transposes, diagonals. See `math_ops.py`, `special_math_ops.py`, `linalg_ops.py`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import executing_eagerly, scoped
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import float32, int32
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.numbers import reduce_prod


@scoped("MatMul")
def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, *, scope: Any = None
) -> Any:
    if not (executing_eagerly() and hasattr(a, "handle")):
        a = convert_to_tensor(a, name="a")
    if not (executing_eagerly() and hasattr(b, "handle")):
        b = convert_to_tensor(b, name="b", dtype_hint=a.dtype)
    if any(each.shape.rank is None or each.shape.rank > 2 for each in (a, b)):
        return O.BatchMatMulV2(a, b, adj_x=transpose_a, adj_y=transpose_b, name=scope)
    return O.MatMul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=scope)


@scoped("transpose")
def transpose(a: Any, perm: Any = None, *, scope: Any = None) -> Any:
    a = a if isinstance(a, Tensor) else convert_to_tensor(a, name="a")
    if perm is None:
        rank = a.shape.rank
        known = None if rank is None else np.arange(rank - 1, -1, -1, dtype=np.int32)
        perm = O.Range(O.Sub(O.Rank(a), 1), -1, -1) if known is None else known
    return O.Transpose(a, perm, name=scope)


@scoped("Tensordot")
def tensordot(a: Any, b: Any, axes: Any, *, scope: Any = None) -> Any:
    """NB: both tensors are known but for a first dimension that stays."""
    a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
    if isinstance(axes, int):
        axes = list(range(len(a.shape) - axes, len(a.shape))), list(range(axes))
    pairs = zip((a, b), axes, strict=True)
    a_axes, b_axes = ([int(at) % len(e.shape) for at in np.ravel(part)] for e, part in pairs)
    a_matrix, a_free, known = _as_matrix(a, a_axes, flipped=False)
    b_matrix, b_free, others = _as_matrix(b, b_axes, flipped=True)
    product = matmul(a_matrix, b_matrix)
    if isinstance(a_free, list) and isinstance(b_free, list):
        same = product.shape.as_list() == known + others
        return product if same else arrays.reshape(product, known + others, name=scope)
    dims = [convert_to_tensor(each, int32) for each in (a_free, b_free)]
    product = arrays.reshape(product, arrays.concat(dims, 0), name=scope)
    product.set_shape(known + others)
    return product


def _as_matrix(a: Any, axes: list[int], *, flipped: bool) -> tuple[Any, Any, list[Any]]:
    """With `axes` made one, and the others; the sizes of those as they are, and as they are known."""
    dims = a.shape.as_list()
    free = [at for at in range(len(dims)) if at not in axes]
    kept = [dims[at] for at in free]
    if a.shape.is_fully_defined():
        outer, inner = prod(kept), prod(dims[at] for at in axes)
        perm = axes + free if flipped else free + axes
        wanted = [inner, outer] if flipped else [outer, inner]
        turned = transpose(a, perm) if perm != list(range(len(dims))) else a
        matrix = turned if turned.shape.as_list() == wanted else arrays.reshape(turned, wanted)
        return matrix, kept, kept
    shape = arrays.shape(a)
    inner_axes = convert_to_tensor(axes, int32, name="axes")
    outer_axes = convert_to_tensor(free, int32, name="free")
    outer_dims, inner_dims = O.GatherV2(shape, outer_axes, 0), O.GatherV2(shape, inner_axes, 0)
    parts = [(outer_axes, reduce_prod(outer_dims)), (inner_axes, reduce_prod(inner_dims))]
    perm, wanted = zip(*parts[:: -1 if flipped else 1], strict=True)  # type: ignore[assignment]
    turned = transpose(a, arrays.concat(perm, 0))
    return arrays.reshape(turned, arrays.stack(wanted)), outer_dims, kept


@scoped("einsum")
def einsum(equation: str, *inputs: Any) -> Any:
    """The sum of products that the equation says. NB: of one or two tensors, with a result."""
    if len(inputs) > 2 or "->" not in equation or "..." in equation:
        raise NotInThisRuntime("tf.einsum of more than two tensors, without a result, or with ...")
    return O.Einsum(list(inputs), equation=equation.replace(" ", ""))


@scoped("eye")
def eye(num_rows: int, *, dtype: Any = float32) -> Any:
    return O.MatrixDiagV3(arrays.ones([num_rows], dtype), 0, -1, -1, 0, name="diag")
