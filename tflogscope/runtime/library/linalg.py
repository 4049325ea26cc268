"""Matrices: `tf.matmul`, `tf.einsum`, `tf.tensordot`, `tf.transpose`, `tf.eye` and others.

Told about: `python/ops/math_ops.py`, `python/ops/special_math_ops.py`,
`python/ops/linalg_ops_impl.py`.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import executing_eagerly, op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.comparison import where
from tflogscope.runtime.library.elementary import conj
from tflogscope.runtime.library.joining import concat, stack
from tflogscope.runtime.library.reductions import reduce_prod, reduce_sum
from tflogscope.runtime.library.slicing import gather
from tflogscope.runtime.ops.call import call, generated, results
from tflogscope.runtime.tensors import Tensor

band_part = generated("MatrixBandPart")
cholesky = generated("Cholesky")
cross = generated("Cross")
det = generated("MatrixDeterminant")
inv = generated("MatrixInverse")
solve = generated("MatrixSolve")
tensor_diag = generated("Diag")
tensor_diag_part = generated("DiagPart")


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    name: str | None = None,
) -> Tensor:
    """The product of two matrices (MatMul), or of stacks of them (BatchMatMulV2).

    Raises ValueError if one is to be both transposed and adjoint.
    """
    del a_is_sparse, b_is_sparse  # hints only
    with op_scope(name, "MatMul") as name:
        for which, transposed, adjoint in (
            ("a", transpose_a, adjoint_a),
            ("b", transpose_b, adjoint_b),
        ):
            if transposed and adjoint:
                raise ValueError(
                    f"Only one of `transpose_{which}` and `adjoint_{which}` can be True. "
                    f"Received `transpose_{which}`={transposed}, `adjoint_{which}`={adjoint}."
                )
        if not (executing_eagerly() and hasattr(a, "handle")):
            a = convert_to_tensor(a, name="a")
        if not (executing_eagerly() and hasattr(b, "handle")):
            b = convert_to_tensor(b, name="b", dtype_hint=a.dtype)
        if output_type is not None and (output_type != a.dtype or output_type != b.dtype):
            adjoint_a, adjoint_b = adjoint_a or transpose_a, adjoint_b or transpose_b
            return call(
                "BatchMatMulV3", a, b, adj_x=adjoint_a, adj_y=adjoint_b, Tout=output_type, name=name
            )
        if a.shape.rank is None or a.shape.rank > 2 or b.shape.rank is None or b.shape.rank > 2:
            a, b = conj(a) if transpose_a else a, conj(b) if transpose_b else b
            adjoint_a, adjoint_b = adjoint_a or transpose_a, adjoint_b or transpose_b
            return call("BatchMatMulV2", a, b, adj_x=adjoint_a, adj_y=adjoint_b, name=name)
        a, b = conj(a) if adjoint_a else a, conj(b) if adjoint_b else b
        flags = {"transpose_a": transpose_a or adjoint_a, "transpose_b": transpose_b or adjoint_b}
        return call("MatMul", a, b, **flags, name=name)


def matvec(
    a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False,
    a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """A matrix times a vector."""
    with op_scope(name, "MatVec"):
        column = arrays.expand_dims(b, axis=-1)
        output = matmul(
            a,
            column,
            transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return arrays.squeeze(output, axis=-1)


def transpose(
    a: Any, perm: Any = None, conjugate: bool = False, name: str | None = "transpose"
) -> Tensor:
    """The dimensions in another order: `perm`, or backwards."""
    with op_scope(name, "transpose") as name:
        if not isinstance(a, Tensor):
            a = convert_to_tensor(a, name="a")
        if perm is None:
            rank = a.shape.rank
            if rank is None:
                perm = call("Range", call("Rank", a) - 1, -1, -1)
            else:
                perm = np.arange(rank - 1, -1, -1, dtype=np.int32)
        type = "ConjugateTranspose" if conjugate and a.dtype.is_complex else "Transpose"
        return call(type, a, perm, name=name)


def triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The solution of `matrix @ x = rhs` for a matrix of which only one triangle is looked at."""
    with op_scope(name, "triangular_solve"):
        return call("MatrixTriangularSolve", matrix, rhs, lower=lower, adjoint=adjoint)


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The transposed complex conjugate."""
    with op_scope(name, "adjoint"):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The last two dimensions exchanged. Raises ValueError for less than two."""
    with op_scope(name, "matrix_transpose"):
        a = convert_to_tensor(a, name="a")
        rank = a.shape.rank
        if rank is not None and rank < 2:
            raise ValueError(
                f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {a} with "
                f"shape: {a.shape}"
            )
        if rank is None:
            count = arrays.rank(a)
            perm: Any = concat((call("Range", 0, count - 2, 1), [count - 1, count - 2]), 0)
        else:
            perm = [*range(rank - 2), rank - 1, rank - 2]
        return transpose(a, perm=perm, conjugate=conjugate)


# -- sums of products


def _axes_of(axes: Any, a: Tensor, b: Tensor) -> tuple[Any, Any]:
    """Which dimensions of both; as they were given, or tensors, where a rank is not known."""
    if isinstance(axes, int):
        if a.shape.rank is None:
            rank: Any = arrays.rank(a)
            last = arrays.range(rank - axes, rank, dtype=dtypes.int32)
            return last, arrays.range(axes, dtype=dtypes.int32)
        return list(range(len(a.shape) - axes, len(a.shape))), list(range(axes))
    first, second = axes
    first, second = (
        [int(part)] if np.ndim(part) == 0 else [int(each) for each in part]
        for part in (first, second)
    )
    if len(first) != len(second):
        raise ValueError(
            f"Different number of contraction axes `a` and `b`, {len(first)} != {len(second)}."
        )
    return _from_zero(a, first), _from_zero(b, second)


def _from_zero(a: Tensor, axes: list[int]) -> list[int]:
    return axes if a.shape.rank is None else [axis % a.shape.rank for axis in axes]


def _as_matrix(a: Tensor, axes: Any, *, flipped: bool) -> tuple[Tensor, Any]:
    """`a` as a matrix whose columns (rows if `flipped`) run over the contracted axes; and the
    dimensions left.
    """
    if a.shape.rank is None or isinstance(axes, Tensor):
        return _as_matrix_of_unknown_rank(a, axes, flipped=flipped)
    dims = a.shape.as_list()
    free = [k for k in range(len(dims)) if k not in axes]
    if not a.shape.is_fully_defined():
        return _as_matrix_by_ops(a, axes, free, flipped=flipped)
    outer, inner = math.prod(a.shape[k] for k in free), math.prod(a.shape[k] for k in axes)
    perm = axes + free if flipped else free + axes
    shape = [inner, outer] if flipped else [outer, inner]
    turned = transpose(a, perm) if perm != list(range(len(dims))) else a
    matrix = turned if turned.shape.as_list() == shape else arrays.reshape(turned, shape)
    return matrix, [dims[k] for k in free]


def _as_matrix_by_ops(
    a: Tensor, axes: list[int], free: list[int], *, flipped: bool
) -> tuple[Tensor, Tensor]:
    """The same where some dimension is only known when the graph runs; the dimensions left are a
    tensor.
    """
    inner_axes = convert_to_tensor(axes, dtypes.int32, name="axes")
    outer_axes = convert_to_tensor(free, dtypes.int32, name="free")
    return _split_by_ops(a, arrays.shape(a), inner_axes, outer_axes, flipped=flipped)


def _as_matrix_of_unknown_rank(a: Tensor, axes: Any, *, flipped: bool) -> tuple[Tensor, Tensor]:
    """The same where also the dimensions that are left are only known then."""
    shape, rank = arrays.shape(a), arrays.rank(a)
    inner_axes: Any = convert_to_tensor(axes, dtypes.int32, name="axes")
    inner_axes = where(inner_axes >= 0, inner_axes, inner_axes + rank)
    outer_axes, _ = results("ListDiff", arrays.range(rank), inner_axes, out_idx=dtypes.int32)
    return _split_by_ops(a, shape, inner_axes, outer_axes, flipped=flipped)


def _split_by_ops(
    a: Tensor, shape: Tensor, inner_axes: Tensor, outer_axes: Tensor, *, flipped: bool
) -> tuple[Tensor, Tensor]:
    outer_dims, inner_dims = gather(shape, outer_axes), gather(shape, inner_axes)
    outer, inner = reduce_prod(outer_dims), reduce_prod(inner_dims)
    if flipped:
        perm, matrix_shape = concat([inner_axes, outer_axes], 0), stack([inner, outer])
    else:
        perm, matrix_shape = concat([outer_axes, inner_axes], 0), stack([outer, inner])
    return arrays.reshape(transpose(a, perm), matrix_shape), outer_dims


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over the given axes of both. Raises ValueError if these do not pair."""
    with op_scope(name, "Tensordot") as name:
        a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        a_axes, b_axes = _axes_of(axes, a, b)
        a_matrix, a_free = _as_matrix(a, a_axes, flipped=False)
        b_matrix, b_free = _as_matrix(b, b_axes, flipped=True)
        product = matmul(a_matrix, b_matrix)
        known = _left((a, a_axes), (b, b_axes))
        if isinstance(a_free, list) and isinstance(b_free, list):
            if product.shape.as_list() == known:
                return product
            return arrays.reshape(product, known, name=name)
        dims = [convert_to_tensor(each, dtypes.int32) for each in (a_free, b_free)]
        product = arrays.reshape(product, concat(dims, 0), name=name)
        if known is not None:
            product.set_shape(known)
        return product


def _left(*factors: tuple[Tensor, Any]) -> list[int | None] | None:
    """The dimensions of the product, as far as they are known; None if their number is not."""
    dims: list[int | None] = []
    for each, axes in factors:
        if isinstance(axes, Tensor) or each.shape.rank is None:
            return None
        dims += [size for k, size in enumerate(each.shape.as_list()) if k not in axes]
    return dims


_EQUATION = re.compile(r"^[a-zA-Z0,]*(?:->[a-zA-Z0]*)?$")


def _resolved_equation(given: str, count: int) -> str:
    """With its output written out. Raises ValueError for what is no equation of so many inputs.

    Told about: `_einsum_v2_parse_and_resolve_equation`, where too an ellipsis is a 0 at first.
    """
    equation = given.replace(" ", "").replace("...", "0")
    if not _EQUATION.match(equation):
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    inputs, arrow, output = equation.partition("->")
    wanted = inputs.count(",") + 1
    if wanted != count:
        raise ValueError(f'Got {count} inputs for equation "{given}", expecting {wanted}')
    if not arrow:
        output = "".join(sorted(each for each in set(inputs) - {","} if inputs.count(each) == 1))
        output = ("0" if "0" in inputs else "") + output.replace("0", "")
    if len(set(output)) != len(output):
        raise ValueError(f"Output subscripts contain a label appearing more than once: {given}")
    for label in output.replace("0", ""):
        if label not in inputs:
            raise ValueError(
                f"Output subscripts contain the label {label} not present in the input subscripts."
            )
    return f"{inputs}->{output}".replace("0", "...")


def einsum(
    equation: str, *inputs: Any, optimize: str = "greedy", name: str | None = None
) -> Tensor:
    """Einstein's sum. Raises ValueError for an equation that does not fit, NotInThisRuntime for
    more than two inputs whose shapes are not known.
    """
    del optimize
    with op_scope(name, "einsum"):
        equation = _resolved_equation(equation, len(inputs))
        if len(inputs) <= 2:
            return call("Einsum", list(inputs), equation=equation)
        return _einsum_of_many(equation, [convert_to_tensor(each) for each in inputs])


def _einsum_of_many(equation: str, tensors: list[Tensor]) -> Tensor:
    """Two at a time, in the order that costs least. TensorFlow asks `opt_einsum` for it."""
    if "." in equation:
        raise NotInThisRuntime("tf.einsum of more than two tensors with an ellipsis")
    given, output = equation.split("->")
    terms = given.split(",")
    # of an unknown dimension TensorFlow guesses that it is 1
    sizes = dict.fromkeys(given.replace(",", ""), 1)
    for term, each in zip(terms, tensors, strict=True):
        dims = each.shape.as_list() if each.shape.rank == len(term) else []
        sizes |= {k: dim for k, dim in zip(term, dims, strict=False) if dim not in (None, 1)}
    shapes = [np.broadcast_to(0.0, [sizes[k] for k in term]) for term in terms]
    path = np.einsum_path(equation, *shapes, optimize="greedy")[0][1:]
    for places in path:
        taken = sorted(places, reverse=True)
        operands = [(terms.pop(place), tensors.pop(place)) for place in taken]
        needed = set(output).union(*terms)
        if terms:
            met = "".join(term for term, _ in operands)
            kept = "".join(letter for letter in dict.fromkeys(met) if letter in needed)
        else:
            kept = output
        step = f"{','.join(term for term, _ in operands)}->{kept}"
        tensors.append(call("Einsum", [each for _, each in operands], equation=step))
        terms.append(kept)
    return tensors[0]


# -- diagonals


def diag(
    diagonal: Any, name: str = "diag", k: Any = 0, num_rows: Any = -1, num_cols: Any = -1,
    padding_value: Any = 0, align: str = "RIGHT_LEFT",
) -> Tensor:  # fmt: skip
    """A matrix with that diagonal; zeros elsewhere."""
    if getattr(diagonal, "dtype", None) == dtypes.bool_:
        padding_value = bool(padding_value)
    return call(
        "MatrixDiagV3", diagonal, k, num_rows, num_cols, padding_value, align=align, name=name
    )


def diag_part(
    input: Any,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """The diagonal of a matrix."""
    return call("MatrixDiagPartV3", input, k, padding_value, align=align, name=name)


def set_diag(
    input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """The matrix with another diagonal."""
    return call("MatrixSetDiagV3", input, diagonal, k, align=align, name=name)


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the diagonal."""
    with op_scope(name, "Trace") as name:
        return reduce_sum(diag_part(convert_to_tensor(x, name="x")), [-1], name=name)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    with op_scope(name, "eye"):
        columns = num_rows if num_columns is None else num_columns
        batch: Any = [] if batch_shape is None else batch_shape
        known = not any(isinstance(each, Tensor) for each in (num_rows, columns, batch))
        square = num_columns is None or (known and num_rows == columns)
        if known:
            ones = arrays.ones([*batch, min(num_rows, columns)], dtype)
            shape: Any = [*batch, num_rows, columns]
        else:
            smallest = call("Minimum", num_rows, columns)
            batch = convert_to_tensor(batch, dtypes.int32, name="shape")
            diagonal = concat((batch, [smallest]), axis=0)
            shape = None if square else concat((batch, [num_rows, columns]), axis=0)
            ones = arrays.ones(diagonal, dtype)
        return diag(ones) if square else set_diag(arrays.zeros(shape, dtype), ones)
