"""Decompositions of matrices: QR, SVD, eigenvalues, LU, log-determinant; and triangles.

Told about: `core/ops/linalg_ops.cc`, `python/ops/linalg_grad.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InvalidArgumentError, NotInThisRuntime
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays, reductions
from tflogscope.runtime.library import linalg as lib
from tflogscope.runtime.library.joining import concat
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.broadcasting import broadcast_gradient_args
from tflogscope.runtime.ops.call import call, control_dependencies, results
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.ops.matrices import FLOATS, SMALLEST_FIRST, solution_shape, solve
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape

Array = NDArray[Any]


def _adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


# -- triangles


@op(
    f"MatrixTriangularSolve(matrix: T, rhs: T; lower=True, adjoint=False, T in {FLOATS}) -> "
    "output: T",
    shape=solution_shape,
)
def _triangular_solve(matrix: Array, rhs: Array, lower: bool, adjoint: bool) -> Array:
    triangle = np.tril(matrix) if lower else np.triu(matrix)
    return solve(_adjoint(triangle) if adjoint else triangle, rhs)  # type: ignore[no-any-return]


@gradient("MatrixTriangularSolve")
def _triangular_solve_gradient(record: OpRecord, grad: Any) -> list[Any]:
    (a, b), c = record.inputs, record.outputs[0]
    adjoint, lower = record.get_attr("adjoint"), record.get_attr("lower")
    grad_b = lib.triangular_solve(a, grad, lower=lower, adjoint=not adjoint)
    one, other = (c, grad_b) if adjoint else (grad_b, c)
    grad_a = -lib.matmul(one, other, adjoint_b=True)
    grad_a = call("MatrixBandPart", grad_a, *((-1, 0) if lower else (0, -1)))
    known = a.shape.is_fully_defined() and b.shape.is_fully_defined()
    if known and a.shape[:-2] == b.shape[:-2]:
        return [grad_a, grad_b]
    sa, sb = arrays.shape(a), arrays.shape(b)
    ra, rb = broadcast_gradient_args(sa[:-2], sb[:-2])
    grad_a = arrays.reshape(reductions.reduce_sum(grad_a, ra), sa)
    return [grad_a, arrays.reshape(reductions.reduce_sum(grad_b, rb), sb)]


# -- QR


def _smaller(rows: int | None, columns: int | None) -> int | None:
    """`InferenceContext::Min`: 0 is the smallest in any case."""
    if 0 in (rows, columns):
        return 0
    return None if rows is None or columns is None else min(rows, columns)


def _qr_shape(i: Inference) -> list[TensorShape]:
    shape, full = i.shape_of_rank_from(0, 2), i.attributes["full_matrices"]
    if shape.rank is None:
        return [UNKNOWN] * 2
    rows, columns = shape[-2], shape[-1]
    inner = rows if full else _smaller(rows, columns)
    return [shape[:-2].concatenate([rows, inner]), shape[:-2].concatenate([inner, columns])]


@op(f"Qr(input: T; full_matrices=False, T in {FLOATS}) -> q: T, r: T", shape=_qr_shape)
def _qr(input: Array, full_matrices: bool) -> tuple[Array, Array]:
    q, r = np.linalg.qr(input, "complete" if full_matrices else "reduced")
    return np.asarray(q, input.dtype), np.asarray(r, input.dtype)


@gradient("Qr")
def _qr_gradient(record: OpRecord, grad_q: Any, grad_r: Any) -> list[Any]:
    """Of square and tall matrices. Raises NotInThisRuntime for others."""
    q, r = record.outputs
    if r.shape.rank is None or None in r.shape.as_list()[-2:]:
        raise NotImplementedError(
            f"QrGrad not implemented with dynamic shapes. Received r.shape: {r.shape}"
        )
    rows, columns = r.shape[-2:]
    if rows != columns:
        raise NotInThisRuntime("The gradient of Qr of a wide matrix")
    q_part: Any = lib.matmul(q, grad_q, adjoint_a=True)
    of_q = q_part - lib.adjoint(q_part)
    r_part: Any = lib.matmul(r, grad_r, adjoint_b=True)
    of_r = r_part - lib.adjoint(r_part)
    triangle = call("MatrixBandPart", of_q + of_r, -1, 0)
    first = lib.matmul(q, grad_r + _divided_by(triangle, r))
    return [first + _divided_by(grad_q - lib.matmul(q, q_part), r)]


def _divided_by(x: Any, r: Any) -> Any:
    """`x @ inverse(adjoint(r))` for an upper triangle."""
    return lib.adjoint(lib.triangular_solve(r, lib.adjoint(x), lower=False, adjoint=False))


# -- SVD


def _svd_shape(i: Inference) -> list[TensorShape]:
    shape = i.shape_of_rank_from(0, 2)
    if shape.rank is None:
        return [UNKNOWN] * 3
    rows, columns, inner = shape[-2], shape[-1], _smaller(shape[-2], shape[-1])
    values = shape[:-2].concatenate([inner])
    if not i.attributes["compute_uv"]:
        return [values, TensorShape([0]), TensorShape([0])]
    wide = i.attributes["full_matrices"]
    u, v = ([size, size if wide else inner] for size in (rows, columns))
    return [values, shape[:-2].concatenate(u), shape[:-2].concatenate(v)]


@op(
    f"Svd(input: T; compute_uv=True, full_matrices=False, T in {FLOATS}) -> s: T, u: T, v: T",
    shape=_svd_shape,
)
def _svd(input: Array, compute_uv: bool, full_matrices: bool) -> tuple[Array, Array, Array]:
    if not compute_uv:
        nothing = np.zeros(0, input.dtype)
        return np.asarray(np.linalg.svd(input, compute_uv=False), input.dtype), nothing, nothing
    u, s, vh = np.linalg.svd(input, full_matrices)
    return s, u, _adjoint(vh)


@gradient("Svd")
def _svd_gradient(record: OpRecord, grad_s: Any, grad_u: Any, grad_v: Any) -> list[Any]:
    """Raises NotInThisRuntime for whole matrices of what is not square."""
    a, slopes = record.inputs[0], lib.diag(grad_s)
    if not record.get_attr("compute_uv"):
        _, u, v = results("Svd", a, compute_uv=True)
        return [lib.matmul(u, lib.matmul(slopes, v, adjoint_b=True))]
    with control_dependencies([grad_s, grad_u, grad_v]):
        return [_svd_gradient_of_parts(record, slopes, grad_u, grad_v)]


def _svd_gradient_of_parts(record: OpRecord, slopes: Any, grad_u: Any, grad_v: Any) -> Any:
    a = record.inputs[0]
    s, u, v = record.outputs
    if a.shape.rank is None or None in a.shape.as_list()[-2:]:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    rows, columns = a.shape[-2:]
    if record.get_attr("full_matrices") and rows != columns:
        raise NotInThisRuntime("The gradient of Svd with full_matrices=True")
    tall = rows > columns
    if tall:
        u, v, grad_u, grad_v = v, u, grad_v, grad_u
    values, squares = lib.diag(s), call("Square", s)
    arrays.shape(s)  # NB: only needed for complex numbers
    f = _gaps(squares, s)
    inverse = lib.diag(_safe_reciprocal(s))
    least = min(rows, columns)
    v, grad_v = v[..., :, :least], grad_v[..., :, :least]
    u_part = lib.matmul(u, grad_u, adjoint_a=True)
    v_part = lib.matmul(v, grad_v, adjoint_a=True)
    f_u, f_v = f * u_part, f * v_part
    inner = slopes + lib.matmul(f_u + lib.adjoint(f_u), values)
    inner += lib.matmul(values, f_v + lib.adjoint(f_v))
    grad_a = lib.matmul(u, lib.matmul(inner, v, adjoint_b=True))
    if rows != columns:
        turned: Any = lib.matrix_transpose(grad_v, conjugate=True)
        outside = turned - lib.matmul(lib.matmul(turned, v), v, adjoint_b=True)
        grad_a += lib.matmul(lib.matmul(u, inverse), outside)
    return lib.matrix_transpose(grad_a, conjugate=True) if tall else grad_a


def _safe_reciprocal(x: Any) -> Any:
    return x * call("Reciprocal", x * x + 1e-20)


def _gaps(values: Any, like: Any) -> Any:
    """1 / (values[j] - values[i]), 0 on the diagonal."""
    differences: Any = arrays.expand_dims(values, -2) - arrays.expand_dims(values, -1)
    return lib.set_diag(_safe_reciprocal(differences), arrays.zeros_like(like))


# -- eigenvalues of symmetric matrices


def _eigen_shape(i: Inference) -> list[TensorShape]:
    shape = i.shape(0)
    if shape.rank is None:
        return [UNKNOWN] * 2
    return [shape[:-1], shape if i.attributes["compute_v"] else TensorShape([0])]


@op(f"SelfAdjointEigV2(input: T; compute_v=True, T in {FLOATS}) -> e: T, v: T", shape=_eigen_shape)
def _self_adjoint_eig(input: Array, compute_v: bool) -> tuple[Array, Array]:
    if not compute_v:
        return np.asarray(np.linalg.eigvalsh(input), input.dtype), np.zeros(0, input.dtype)
    e, v = np.linalg.eigh(input)
    return np.asarray(e, input.dtype), np.asarray(v, input.dtype)


@gradient("SelfAdjointEigV2")
def _self_adjoint_eig_gradient(record: OpRecord, grad_e: Any, grad_v: Any) -> list[Any]:
    """In the lower triangle, since only that is looked at."""
    e, v = record.outputs
    with control_dependencies([grad_e, grad_v]):
        if record.get_attr("compute_v"):
            gaps = _gaps(e, e)
            inner: Any = lib.diag(grad_e)
            inner += gaps * lib.matmul(v, grad_v, adjoint_a=True)
        else:
            _, v = results("SelfAdjointEigV2", record.inputs[0], compute_v=True)
            inner = lib.diag(grad_e)
        grad_a: Any = lib.matmul(v, lib.matmul(inner, v, adjoint_b=True))
        grad_a = call("MatrixBandPart", grad_a + lib.adjoint(grad_a), -1, 0)
        return [lib.set_diag(grad_a, 0.5 * lib.diag_part(grad_a))]


# -- log-determinant and LU


@op(
    f"LogMatrixDeterminant(input: T; T in {SMALLEST_FIRST}) -> sign: T, log_abs_determinant: T",
    shape=lambda i: [i.shape(0)[:-2]] * 2,
)
def _log_determinant(input: Array) -> tuple[Array, Array]:
    if input.shape[-1] != input.shape[-2]:
        raise InvalidArgumentError(None, None, "Input matrix must be square.")
    sign, logarithm = np.linalg.slogdet(input)
    return np.asarray(sign, input.dtype), np.asarray(logarithm, input.dtype)


@gradient("LogMatrixDeterminant")
def _log_determinant_gradient(record: OpRecord, _: Any, grad: Any) -> list[Any]:
    a, c = record.inputs[0], record.outputs[0]
    inverse = call("MatrixInverse", a, adjoint=True)
    return [arrays.reshape(grad, concat([arrays.shape(c), [1, 1]], 0)) * inverse]


@op(
    f"Lu(input: T; output_idx_type=int32, T in {FLOATS}) -> lu: T, p: output_idx_type",
    shape=lambda i: [i.shape(0), i.shape(0)[:-1]],
)
def _lu(input: Array, output_idx_type: DType) -> tuple[Array, Array]:
    """Both triangles in one matrix, and the order of the rows. Raises InvalidArgumentError if it
    is singular.
    """
    flat = input.reshape(-1, *input.shape[-2:])
    pairs = [_eliminated(matrix) for matrix in flat]
    both = np.reshape([lu for lu, _ in pairs], input.shape).astype(input.dtype)
    rows = np.reshape([order for _, order in pairs], input.shape[:-1])
    return both, rows.astype(output_idx_type.as_numpy_dtype)


def _eliminated(matrix: Array) -> tuple[Array, Array]:
    """Gauss, with the largest number of each column as pivot."""
    lu, order = matrix.astype(np.float64), np.arange(len(matrix))
    for k in range(len(lu)):
        pivot = k + int(np.argmax(np.abs(lu[k:, k])))
        if lu[pivot, k] == 0:
            raise InvalidArgumentError(None, None, "Input is not invertible.")
        lu[[k, pivot]], order[[k, pivot]] = lu[[pivot, k]], order[[pivot, k]]
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    return lu, order
