"""Products, transposes, diagonals. See `math_ops.py`, `special_math_ops.py`, `linalg_ops.py`."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import executing_eagerly, op_scope
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import float32, int32
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.numbers import reduce_prod


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Any:
    with op_scope(name, "MatMul") as scope:
        if not (executing_eagerly() and hasattr(a, "handle")):
            a = convert_to_tensor(a, name="a")
        if not (executing_eagerly() and hasattr(b, "handle")):
            b = convert_to_tensor(b, name="b", dtype_hint=a.dtype)
        first, second = transpose_a or adjoint_a, transpose_b or adjoint_b
        if any(each.shape.rank is None or each.shape.rank > 2 for each in (a, b)):
            return O.BatchMatMulV2(a, b, adj_x=first, adj_y=second, name=scope)
        return O.MatMul(a, b, transpose_a=first, transpose_b=second, name=scope)


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Any:
    del conjugate
    with op_scope(name, "transpose") as scope:
        a = a if isinstance(a, Tensor) else convert_to_tensor(a, name="a")
        if perm is None:
            rank = a.shape.rank
            perm = (
                O.Range(O.Sub(O.Rank(a), 1), -1, -1)
                if rank is None
                else np.arange(rank - 1, -1, -1, dtype=np.int32)
            )
        return O.Transpose(a, perm, name=scope)


def matrix_transpose(a: Any, name: str = "matrix_transpose") -> Any:
    with op_scope(name, "matrix_transpose"):
        a = convert_to_tensor(a, name="a")
        rank = len(a.shape)
        return transpose(a, perm=[*range(rank - 2), rank - 1, rank - 2])


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    with op_scope(name, "Tensordot") as scope:
        a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        if isinstance(axes, int):
            a_axes, b_axes = list(range(len(a.shape) - axes, len(a.shape))), list(range(axes))
        else:
            a_axes, b_axes = (
                [int(at) % len(each.shape) for at in np.ravel(part)]
                for each, part in zip((a, b), axes, strict=True)
            )
        a_matrix, a_free = _as_matrix(a, a_axes, flipped=False)
        b_matrix, b_free = _as_matrix(b, b_axes, flipped=True)
        product = matmul(a_matrix, b_matrix)
        known = [d for at, d in enumerate(a.shape.as_list()) if at not in a_axes]
        known += [d for at, d in enumerate(b.shape.as_list()) if at not in b_axes]
        if isinstance(a_free, list) and isinstance(b_free, list):
            if product.shape.as_list() == known:
                return product
            return arrays.reshape(product, known, name=scope)
        dims = [convert_to_tensor(each, int32) for each in (a_free, b_free)]
        product = arrays.reshape(product, arrays.concat(dims, 0), name=scope)
        product.set_shape(known)
        return product


def _as_matrix(a: Any, axes: list[int], *, flipped: bool) -> tuple[Any, Any]:
    dims = a.shape.as_list()
    free = [at for at in range(len(dims)) if at not in axes]
    if a.shape.is_fully_defined():
        outer, inner = prod(dims[at] for at in free), prod(dims[at] for at in axes)
        perm = axes + free if flipped else free + axes
        wanted = [inner, outer] if flipped else [outer, inner]
        turned = transpose(a, perm) if perm != list(range(len(dims))) else a
        matrix = turned if turned.shape.as_list() == wanted else arrays.reshape(turned, wanted)
        return matrix, [dims[at] for at in free]
    shape = arrays.shape(a)
    inner_axes = convert_to_tensor(axes, int32, name="axes")
    outer_axes = convert_to_tensor(free, int32, name="free")
    outer_dims, inner_dims = O.GatherV2(shape, outer_axes, 0), O.GatherV2(shape, inner_axes, 0)
    outer, inner = reduce_prod(outer_dims), reduce_prod(inner_dims)
    parts = ([inner_axes, outer_axes], [inner, outer])
    perm, wanted = parts if flipped else (parts[0][::-1], parts[1][::-1])
    perm, wanted = arrays.concat(perm, 0), arrays.stack(wanted)
    return arrays.reshape(transpose(a, perm), wanted), outer_dims


def einsum(equation: str, *inputs: Any, optimize: str = "greedy", name: Any = None) -> Any:
    """The sum of products that the equation says. NB: of one or two tensors."""
    del optimize
    if len(inputs) > 2:
        raise NotInThisRuntime("tf.einsum of more than two tensors")
    with op_scope(name, "einsum"):
        terms, arrow, output = equation.replace(" ", "").partition("->")
        if not arrow:
            letters = re.sub(r"[^a-zA-Z]", "", terms)
            output = "".join(sorted(each for each in set(letters) if letters.count(each) == 1))
            output = ("..." if "..." in terms else "") + output
        return O.Einsum(list(inputs), equation=f"{terms}->{output}")


# -- diagonals


def diag(diagonal: Any, name: str = "diag", k: int = 0) -> Any:
    return O.MatrixDiagV3(diagonal, k, -1, -1, 0, name=name)


def diag_part(input: Any, name: str = "diag_part", k: int = 0) -> Any:
    return O.MatrixDiagPartV3(input, k, 0, name=name)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    with op_scope(name, "eye"):
        batch = list(batch_shape or [])
        columns = num_rows if num_columns is None else num_columns
        if isinstance(num_rows, Tensor):
            return diag(arrays.ones(arrays.stack([*batch, num_rows]), dtype))
        if num_rows != columns:
            raise NotInThisRuntime("tf.eye that is not square")
        return diag(arrays.ones([*batch, num_rows], dtype))
