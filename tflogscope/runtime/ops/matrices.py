"""Single matrices: diagonals, bands, determinant, inverse, Cholesky; decompositions.py has others.

Told about: `core/ops/array_ops.cc`, `core/ops/linalg_ops.cc`, `python/ops/array_grad.py`,
`python/ops/linalg_grad.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.errors import InvalidArgumentError, NotInThisRuntime
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library import linalg as lib
from tflogscope.runtime.library.joining import concat
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, broadcast_shapes, dims_text

Array = NDArray[Any]
FLOATS = "float64 float32 float16 complex64 complex128"
SMALLEST_FIRST = "float16 float32 float64 complex64 complex128"


def _single(k: Array) -> int:
    """The number of the one diagonal that is meant: 0 the main one, positive above it."""
    flat = np.ravel(k)
    if flat.size > 1 and flat[0] != flat[1]:
        raise NotInThisRuntime("Diagonal ops with a band of diagonals")
    return int(flat[0])


# -- diagonals


def _diag_shape(i: Inference) -> TensorShape:
    k = folded_value(i.inputs[1])
    shape = i.shape(0)
    if shape.rank is None or k is None:
        return UNKNOWN
    size = None if shape[-1] is None else shape[-1] + abs(_single(k))
    rows, columns = (folded_value(each) for each in i.inputs[2:4])
    dims = [size if given is None or int(given) == -1 else int(given) for given in (rows, columns)]
    return shape[:-1].concatenate(dims)


@op(
    "MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T; "
    "align='RIGHT_LEFT') -> output: T",
    shape=_diag_shape,
)
def _matrix_diag(
    diagonal: Array, k: Array, num_rows: Array, num_cols: Array, padding_value: Array
) -> Array:
    offset, length = _single(k), diagonal.shape[-1]
    size = length + abs(offset)
    rows = size if int(num_rows) == -1 else int(num_rows)
    columns = size if int(num_cols) == -1 else int(num_cols)
    result = np.full((*diagonal.shape[:-1], rows, columns), padding_value, diagonal.dtype)
    at = np.arange(length)
    result[..., at + max(-offset, 0), at + max(offset, 0)] = diagonal
    return result


@gradient("MatrixDiagV3")
def _matrix_diag_gradient(record: OpRecord, grad: Any) -> list[Any]:
    part = lib.diag_part(grad, k=record.inputs[1], align=record.get_attr("align"))
    return [part, None, None, None, None]


def _part_shape(i: Inference) -> TensorShape:
    shape, k = i.shape(0), folded_value(i.inputs[1])
    if shape.rank is None:
        return UNKNOWN
    rows, columns = shape.as_list()[-2:]
    if k is None or rows is None or columns is None:
        return shape[:-2].concatenate([None])
    offset = _single(k)
    return shape[:-2].concatenate([min(rows + min(offset, 0), columns - max(offset, 0))])


@op(
    "MatrixDiagPartV3(input: T, k: int32, padding_value: T; align='RIGHT_LEFT') -> diagonal: T",
    shape=_part_shape,
)
def _matrix_diag_part(input: Array, k: Array, padding_value: Array) -> Array:  # noqa: ARG001
    if input.ndim < 2:
        text = f"input must be at least 2-dim, received shape: {dims_text(input.shape)}"
        raise InvalidArgumentError(None, None, text)
    return np.diagonal(input, _single(k), -2, -1).copy()


@gradient("MatrixDiagPartV3")
def _matrix_diag_part_gradient(record: OpRecord, grad: Any) -> list[Any]:
    shape, align = record.inputs[0].shape[-2:], record.get_attr("align")
    if shape.is_fully_defined():
        found = lib.diag(
            grad, k=record.inputs[1], num_rows=shape[0], num_cols=shape[1], align=align
        )
    else:
        found = lib.set_diag(
            arrays.zeros_like(record.inputs[0]), grad, k=record.inputs[1], align=align
        )
    return [found, None, None]


@op("MatrixSetDiagV3(input: T, diagonal: T, k: int32; align='RIGHT_LEFT') -> output: T")
def _matrix_set_diag(input: Array, diagonal: Array, k: Array) -> Array:
    result, offset = input.copy(), _single(k)
    at = np.arange(diagonal.shape[-1])
    result[..., at + max(-offset, 0), at + max(offset, 0)] = diagonal
    return result


@gradient("MatrixSetDiagV3")
def _matrix_set_diag_gradient(record: OpRecord, grad: Any) -> list[Any]:
    _, diagonal, k = record.inputs
    align = record.get_attr("align")
    shape: Any = diagonal.shape if diagonal.shape.is_fully_defined() else arrays.shape(diagonal)
    rest = lib.set_diag(grad, arrays.zeros(shape, grad.dtype), k=k, align=align)
    return [rest, lib.diag_part(grad, k=k, align=align), None]


@op("MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex; Tindex=int64) -> band: T")
def _matrix_band_part(input: Array, num_lower: Array, num_upper: Array) -> Array:
    """Zeros outside of the band; a negative number keeps the whole triangle."""
    rows, columns = np.indices(input.shape[-2:])
    lower, upper = int(num_lower), int(num_upper)
    for name, what, given, size in zip(
        ("num_lower", "num_upper"),
        ("rows", "columns"),
        (lower, upper),
        input.shape[-2:],
        strict=True,
    ):
        if given > size:
            text = f"{name} must be negative or less or equal to number of {what} ({size})"
            raise InvalidArgumentError(None, None, f"{text} got: {given}")
    kept = ((lower < 0) | (rows - columns <= lower)) & ((upper < 0) | (columns - rows <= upper))
    return np.where(kept, input, np.zeros((), input.dtype))


@gradient("MatrixBandPart")
def _matrix_band_part_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [call("MatrixBandPart", grad, *record.inputs[1:]), None, None]


def _doubled(i: Inference) -> TensorShape:
    return i.shape(0).concatenate(i.shape(0))


@op("Diag(diagonal: T) -> output: T", shape=_doubled)
def _tensor_diag(diagonal: Array) -> Array:
    return np.diag(diagonal.reshape(-1)).reshape(diagonal.shape * 2)


def _half_shape(i: Inference) -> TensorShape:
    rank = i.shape(0).rank
    return UNKNOWN if rank is None else i.shape(0)[: rank // 2]


@op("DiagPart(input: T) -> diagonal: T", shape=_half_shape)
def _tensor_diag_part(input: Array) -> Array:
    if input.ndim % 2 or not input.ndim:
        text = f"The rank of the tensor should be {' ' * 41}even and positive, got shape "
        raise InvalidArgumentError(None, None, text + dims_text(input.shape))
    half = input.shape[: input.ndim // 2]
    size = int(np.prod(half))
    return np.diagonal(input.reshape(size, size)).reshape(half).copy()


@gradient("Diag")
def _tensor_diag_gradient(record: OpRecord, grad: Any) -> list[Any]:  # noqa: ARG001
    return [call("DiagPart", grad)]


@gradient("DiagPart")
def _tensor_diag_part_gradient(record: OpRecord, grad: Any) -> list[Any]:  # noqa: ARG001
    return [call("Diag", grad)]


# -- determinant, inverse, equations


def _solvable(function: Callable[..., Any], message: str) -> Callable[..., Any]:
    """A NumPy function whose LinAlgError is an InvalidArgumentError."""

    def checked(*arguments: Array) -> Any:
        if arguments[0].shape[-1] != arguments[0].shape[-2]:
            raise InvalidArgumentError(None, None, "Input matrix must be square.")
        if len(arguments) > 1 and arguments[0].shape[-1] != arguments[1].shape[-2]:
            text = "Input matrix and rhs are incompatible."
            raise InvalidArgumentError(None, None, text)
        try:
            return np.asarray(function(*arguments), arguments[0].dtype)
        except np.linalg.LinAlgError:
            raise InvalidArgumentError(None, None, message) from None

    return checked


_inverse = _solvable(np.linalg.inv, "Input is not invertible.")
solve = _solvable(np.linalg.solve, "Input matrix is not invertible.")


def _adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def square_matrices(i: Inference, index: int = 0) -> TensorShape:
    """A stack of square matrices. Raises ValueError for others.

    Told about: `MakeBatchSquareMatrix` of `core/ops/linalg_ops.cc`.
    """
    shape = i.shape_of_rank_from(index, 2)
    if shape.rank is None:
        return UNKNOWN
    rows, columns = shape.as_list()[-2:]
    if None not in (rows, columns) and rows != columns:
        raise ValueError(f"Dimensions must be equal, but are {rows} and {columns}")
    size = columns if rows is None else rows
    return shape[:-2].concatenate([size, size])


def solution_shape(i: Inference) -> TensorShape:
    """As many rows as the matrix has, for each of the right sides.

    Told about: `MatrixSolveShapeFn` of `core/ops/linalg_ops.cc`.
    """
    matrix, right = square_matrices(i), i.shape_of_rank_from(1, 2)
    if matrix.rank is None or right.rank is None:
        return UNKNOWN
    rows, given = matrix[-1], right[-2]
    if None not in (rows, given) and rows != given:
        raise ValueError(f"Dimensions must be equal, but are {rows} and {given}")
    batch = broadcast_shapes(matrix[:-2], right[:-2])
    return batch.concatenate([given if rows is None else rows, right[-1]])


@op(
    f"MatrixDeterminant(input: T; T in {SMALLEST_FIRST}) -> output: T",
    shape=lambda i: square_matrices(i)[:-2],
)
def _determinant(input: Array) -> Array:
    return np.asarray(np.linalg.det(input), input.dtype)


@gradient("MatrixDeterminant")
def _determinant_gradient(record: OpRecord, grad: Any) -> list[Any]:
    a, c = record.inputs[0], record.outputs[0]
    inverse = call("MatrixInverse", a, adjoint=True)
    factors = arrays.reshape(grad * c, concat([arrays.shape(c), [1, 1]], 0))
    return [factors * inverse]


@op(f"MatrixInverse(input: T; adjoint=False, T in {FLOATS}) -> output: T", shape=square_matrices)
def _matrix_inverse(input: Array, adjoint: bool) -> Array:
    return _inverse(_adjoint(input) if adjoint else input)  # type: ignore[no-any-return]


@gradient("MatrixInverse")
def _matrix_inverse_gradient(record: OpRecord, grad: Any) -> list[Any]:
    inverse, adjoint = record.outputs[0], record.get_attr("adjoint")
    inner = lib.matmul(grad, inverse, adjoint_a=adjoint, adjoint_b=not adjoint)
    return [-lib.matmul(inverse, inner, adjoint_a=not adjoint)]


@op(
    f"MatrixSolve(matrix: T, rhs: T; adjoint=False, T in {FLOATS}) -> output: T",
    shape=solution_shape,
)
def _matrix_solve(matrix: Array, rhs: Array, adjoint: bool) -> Array:
    return solve(_adjoint(matrix) if adjoint else matrix, rhs)  # type: ignore[no-any-return]


@gradient("MatrixSolve")
def _matrix_solve_gradient(record: OpRecord, grad: Any) -> list[Any]:
    a, c, adjoint = record.inputs[0], record.outputs[0], record.get_attr("adjoint")
    grad_b = call("MatrixSolve", a, grad, adjoint=not adjoint)
    product = (
        lib.matmul(c, grad_b, adjoint_b=True) if adjoint else lib.matmul(grad_b, c, adjoint_b=True)
    )
    return [-product, grad_b]


@op(f"Cholesky(input: T; T in {FLOATS}) -> output: T", shape=square_matrices)
def _cholesky(input: Array) -> Array:
    """NaN where there is none. NB: TensorFlow fills in what it had come to by then."""
    try:
        return np.linalg.cholesky(input)
    except np.linalg.LinAlgError:
        return np.tril(np.full_like(input, np.nan))


@gradient("Cholesky")
def _cholesky_gradient(record: OpRecord, grad: Any) -> list[Any]:
    lower = record.outputs[0]
    rows = arrays.shape(lower)[-1]
    batch = arrays.shape(lower)[:-2]
    inverse = lib.triangular_solve(lower, lib.eye(rows, batch_shape=batch, dtype=lower.dtype))
    middle = lib.matmul(lower, grad, adjoint_a=True)
    middle = lib.set_diag(middle, 0.5 * lib.diag_part(middle))
    middle = call("MatrixBandPart", middle, -1, 0)
    grad_a = lib.matmul(lib.matmul(inverse, middle, adjoint_a=True), inverse)
    grad_a = grad_a + lib.adjoint(grad_a)
    return [grad_a * 0.5]


@op("Cross(a: T, b: T; T in real) -> product: T")
def _cross(a: Array, b: Array) -> Array:
    return np.asarray(np.cross(a, b), a.dtype)


@gradient("Cross")
def _cross_gradient(record: OpRecord, grad: Any) -> list[Any]:
    u, v = record.inputs
    return [call("Cross", v, grad), call("Cross", grad, u)]
