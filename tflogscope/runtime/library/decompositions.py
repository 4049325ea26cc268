"""Decompositions of matrices and what follows from them: `tf.linalg.qr`, `svd`, `eigh`, `lstsq`,
`pinv` and others.

Told about: `python/ops/linalg_ops.py`, `python/ops/linalg/linalg_impl.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays, comparison, linalg, reductions
from tflogscope.runtime.library.elementary import cast, log
from tflogscope.runtime.ops.call import call, generated, results
from tflogscope.runtime.tensors import Tensor

lu = generated("Lu")
slogdet = generated("LogMatrixDeterminant")


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """An orthogonal and an upper triangular matrix: `q, r`."""
    return results("Qr", input, full_matrices=full_matrices, name=name)


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """The singular values; with `compute_uv` also the matrices: `s, u, v`."""
    s, u, v = results("Svd", tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (
        (convert_to_tensor(s), convert_to_tensor(u), convert_to_tensor(v))
        if compute_uv
        else convert_to_tensor(s)
    )


def eigh(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues of a symmetric matrix, the smallest first, and its eigenvectors."""
    e, v = results("SelfAdjointEigV2", tensor, compute_v=True, name=name)
    return e, v


def eigvalsh(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues of a symmetric matrix."""
    e, _ = results("SelfAdjointEigV2", tensor, compute_v=False, name=name)
    return e  # type: ignore[no-any-return]


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of a symmetric matrix whose eigenvalues are positive."""
    with op_scope(name, "logdet"):
        diagonal = linalg.diag_part(call("Cholesky", matrix))
        return 2.0 * reductions.reduce_sum(log(diagonal), axis=[-1])  # type: ignore[no-any-return]


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """The solution of `a @ x = rhs`, where `chol` is the Cholesky decomposition of `a`."""
    with op_scope(name, "cholesky_solve"):
        y = call("MatrixTriangularSolve", chol, rhs, adjoint=False, lower=True)
        return call("MatrixTriangularSolve", chol, y, adjoint=True, lower=True)


def lstsq(
    matrix: Any,
    rhs: Any,
    l2_regularizer: float = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """The solution of least squares, or the smallest one, by the normal equations.

    Raises NotInThisRuntime for `fast=False`.
    """
    if not fast:
        raise NotInThisRuntime("tf.linalg.lstsq(fast=False)")
    with op_scope(name, "matrix_solve_ls"):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, matrix.dtype, name="rhs")
        rows, columns = matrix.shape[-2:]
        tall = rows >= columns
        gramian: Any = linalg.matmul(matrix, matrix, adjoint_a=tall, adjoint_b=not tall)
        if l2_regularizer != 0:
            gramian += l2_regularizer * linalg.eye(min(rows, columns), dtype=matrix.dtype)
        chol = call("Cholesky", gramian)
        if tall:
            return cholesky_solve(chol, linalg.matmul(matrix, rhs, adjoint_a=True))
        return linalg.matmul(matrix, cholesky_solve(chol, rhs), adjoint_a=True)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The pseudo-inverse: singular values below `rcond` times the largest count as 0."""
    del validate_args
    with op_scope(name, "pinv"):
        a = convert_to_tensor(a, name="a")
        if rcond is None:
            rcond = 10.0 * float(max(a.shape[-2:])) * np.finfo(a.dtype.as_numpy_dtype).eps
        rcond = convert_to_tensor(rcond, a.dtype, name="rcond")
        s, u, v = svd(a, full_matrices=False, compute_uv=True)
        limit: Any = rcond * reductions.reduce_max(s, axis=-1)
        limit = arrays.expand_dims(limit, -1)
        s = comparison.where(s > limit, s, np.array(np.inf, a.dtype.as_numpy_dtype))
        return linalg.matmul(v / arrays.expand_dims(s, -2), u, adjoint_b=True)


def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """How many singular values are above `tol`."""
    del validate_args
    with op_scope(name, "matrix_rank"):
        a = convert_to_tensor(a, name="a")
        s: Any = svd(a, compute_uv=False)
        if tol is None:
            eps = np.finfo(a.dtype.as_numpy_dtype).eps
            size: Any = cast(np.max(a.shape[-2:].as_list()), a.dtype)
            tol = eps * size * reductions.reduce_max(s, axis=-1, keepdims=True)
        return reductions.reduce_sum(cast(s > tol, dtypes.int32), axis=-1)
