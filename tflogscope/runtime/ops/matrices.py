"""Products and linear equations. See `math_grad.py`, `linalg_grad.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.release import since
from tflogscope.runtime.core.shapes import UNKNOWN, TensorShape, broadcast, known
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.matrices import diag_part, matmul
from tflogscope.runtime.library.numbers import reduce_sum
from tflogscope.runtime.ops.rules import invalid, known_int, same


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
        raise invalid(
            f"Matrix size-incompatible: In[0]: {list(x.shape)}, In[1]: {list(y.shape)}".replace(
                ", ", ","
            ).replace(",In", ", In")
        )
    return np.asarray(np.matmul(x, y), x.dtype)


def _matmul_shape(i: Inference) -> TensorShape:
    x, y = i.shape(0).with_rank(2), i.shape(1).with_rank(2)
    return _product_shape(x, y, i["transpose_a"], i["transpose_b"])


def _matmul_gradient(op: Any, g: Any) -> list[Any]:
    swap_a, swap_b = op.get_attr("transpose_a"), op.get_attr("transpose_b")
    a, b = op.inputs
    skipped = getattr(op, "skip_input_indices", None) or ()
    later = {"grad_a": True} if since(2, 15) else {}
    of_b = {"grad_b": True} if since(2, 15) else {}
    ga: Any = None
    gb: Any = None
    if 0 not in skipped:
        pair, flags = ((g, b), (False, not swap_b)) if not swap_a else ((b, g), (swap_b, True))
        ga = O.MatMul(*pair, transpose_a=flags[0], transpose_b=flags[1], **later)
    if 1 not in skipped:
        pair, flags = ((a, g), (not swap_a, False)) if not swap_b else ((g, a), (True, swap_a))
        gb = O.MatMul(*pair, transpose_a=flags[0], transpose_b=flags[1], **of_b)
    return [ga, gb]


def _batch_gradient(op: Any, g: Any) -> list[Any]:
    x, y = op.inputs
    swap_x, swap_y = op.get_attr("adj_x"), op.get_attr("adj_y")
    if not swap_x:
        gx = matmul(g, y, transpose_b=not swap_y)
        gy = matmul(g, x, transpose_a=True) if swap_y else matmul(x, g, transpose_a=True)
    else:
        gx = matmul(y, g, transpose_a=swap_y, transpose_b=True)
        gy = matmul(g, x, transpose_a=True, transpose_b=True) if swap_y else matmul(x, g)
    known_shapes = x.shape.is_fully_defined() and y.shape.is_fully_defined()
    batches = x.shape[:-2], y.shape[:-2]
    if batches[0].rank == batches[1].rank and (known_shapes or since(2, 15)):
        same_batch = batches[0].is_fully_defined() and batches[0] == batches[1]
        if same_batch:
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


def _terms(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """The terms with a letter for each dimension that `...` stands for."""
    given, output = equation.split("->")
    hidden = 0
    terms = []
    for term, rank in zip(given.split(","), ranks, strict=True):
        count = rank - len(term.replace("...", ""))
        hidden = max(hidden, count) if "..." in term else hidden
        terms.append(term.replace("...", "ABCDEFGH"[8 - count : 8] if count else ""))
    return terms, output.replace("...", "ABCDEFGH"[8 - hidden : 8] if hidden else "")


def _einsum_shape(i: Inference) -> TensorShape:
    if any(each.shape.rank is None for each in i.inputs):
        return UNKNOWN
    terms, output = _terms(i["equation"], [len(each.shape) for each in i.inputs])
    sizes: dict[str, Any] = {}
    for term, each in zip(terms, i.inputs, strict=True):
        for label, dim in zip(term, each.shape.dims, strict=True):
            before = sizes.get(label)
            sizes[label] = dim if before is None or (not known(before) and known(dim)) else before
    return TensorShape([sizes[label] for label in output])


def _einsum(*inputs: Any, equation: str) -> Any:
    return np.asarray(np.einsum(equation, *inputs, optimize=True), inputs[0].dtype)


def _einsum_gradient(op: Any, g: Any) -> list[Any]:
    """NB: without repeated labels, and without `...` that stands for different shapes."""
    given, output = op.get_attr("equation").split("->")
    terms = given.split(",")
    if len(terms) == 1:
        if set(terms[0]) != set(output):
            raise NotInThisRuntime("the gradient of an einsum that sums one tensor")
        return [O.Einsum([g], equation=f"{output}->{terms[0]}")]
    x, y = op.inputs
    return [
        O.Einsum([g, y], equation=f"{output},{terms[1]}->{terms[0]}"),
        O.Einsum([g, x], equation=f"{output},{terms[0]}->{terms[1]}"),
    ]


op("Einsum(inputs: N*T; equation) -> output: T", _einsum_shape, _einsum, _einsum_gradient)


# -- diagonals


def _diag_shape(i: Inference) -> TensorShape:
    shape, k = i.shape(0), known_int(i.inputs[1])
    if shape.dims is None or k is None:
        return UNKNOWN
    last = shape.as_list()[-1]
    size = None if last is None else last + abs(k)
    return TensorShape([*shape.dims[:-1], size, size])


def _diag(diagonal: Any, k: Any, rows: Any, columns: Any, padding: Any) -> Any:
    del rows, columns
    at, offset = np.arange(diagonal.shape[-1]), int(k)
    size = diagonal.shape[-1] + abs(offset)
    result = np.full((*diagonal.shape[:-1], size, size), padding, diagonal.dtype)
    result[..., at + max(-offset, 0), at + max(offset, 0)] = diagonal
    return result


def _part_shape(i: Inference) -> TensorShape:
    shape = i.shape(0)
    if shape.dims is None:
        return UNKNOWN
    sizes = [dim for dim in shape.as_list()[-2:] if dim is not None]
    return TensorShape([*shape.dims[:-2], min(sizes) if len(sizes) == 2 else None])


def _band(x: Any, lower: Any, upper: Any) -> Any:
    rows, columns = np.indices(x.shape[-2:])
    kept = ((lower < 0) | (rows - columns <= lower)) & ((upper < 0) | (columns - rows <= upper))
    return np.where(kept, x, np.zeros((), x.dtype))


op("MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T; "
   "align='RIGHT_LEFT') -> output: T", _diag_shape, _diag,
   lambda op, g: [diag_part(g), None, None, None, None])  # fmt: skip
op("MatrixDiagPartV3(input: T, k: int32, padding_value: T; align='RIGHT_LEFT') -> diagonal: T",
   _part_shape, lambda x, k, padding: np.diagonal(x, int(k), -2, -1).copy(),
   )  # fmt: skip
op("MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex; Tindex=int64) -> band: T",
   same, _band, lambda op, g: [O.MatrixBandPart(g, *op.inputs[1:]), None, None])  # fmt: skip


# -- equations


op("Qr(input: T; full_matrices=False) -> q: T, r: T", lambda i: [i.shape(0), i.shape(0)[1:].concatenate(i.shape(0)[1:])],
   lambda x, full_matrices: tuple(np.linalg.qr(x, "complete" if full_matrices else "reduced")))  # fmt: skip
