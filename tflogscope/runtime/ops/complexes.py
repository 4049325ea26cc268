"""Complex numbers: Complex, Real, Imag, Angle, Conj, ComplexAbs; and ConjugateTranspose.

Told about: `core/ops/math_ops.cc`, `core/ops/array_ops.cc`, `python/ops/math_grad.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.conversion import constant
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays, complexes
from tflogscope.runtime.library import elementary as lib
from tflogscope.runtime.library import linalg as linalg_lib
from tflogscope.runtime.library.arithmetic import div_no_nan
from tflogscope.runtime.ops.broadcasting import broadcast_kernel, broadcast_shape, by_op, summed
from tflogscope.runtime.ops.call import call, control_dependencies
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.ops.linalg import transpose_shape, transposed
from tflogscope.runtime.record import OpRecord

Array = NDArray[Any]


@op(
    "Complex(real: T, imag: T; T in float32 float64, Tout=complex64) -> out: Tout",
    shape=broadcast_shape,
)
def _complex(real: Array, imag: Array, Tout: DType) -> Array:
    pair = broadcast_kernel(lambda x, y: np.asarray(x + 1j * y, Tout.as_numpy_dtype))
    joined: Array = pair(real, imag)
    return joined


def _part(function: Callable[[Array], Any]) -> Callable[..., Array]:
    def kernel(x: Array, Tout: DType) -> Array:
        return np.array(function(x), Tout.as_numpy_dtype)

    return kernel


_parts: dict[str, Callable[[Array], Any]] = {"Real": np.real, "Imag": np.imag, "Angle": np.angle}
for _type, _function in _parts.items():
    op(f"{_type}(input: T; T in complex64 complex128, Tout=float32) -> output: Tout")(
        _part(_function)
    )
op("ComplexAbs(x: T; T in complex64 complex128, Tout=float32) -> y: Tout")(_part(np.abs))
op("Conj(input: T; T in complex64 complex128 variant) -> output: T")(np.conj)


@op(
    "ConjugateTranspose(x: T, perm: Tperm; Tperm=int32) -> y: T",
    shape=transpose_shape,
)
def _conjugate_transpose(x: Array, perm: Array) -> Array:
    return np.conj(transposed(x, perm))  # type: ignore[no-any-return]


# -- gradients


@gradient("Complex")
def _complex_gradient(record: OpRecord, grad: Any) -> list[Any]:
    of_x, of_y = by_op(*record.inputs)
    return [summed(complexes.real(grad), of_x), summed(complexes.imag(grad), of_y)]


@gradient("Real")
def _real_gradient(record: OpRecord, grad: Any) -> list[Any]:  # noqa: ARG001
    return [complexes.complex(grad, constant(0, grad.dtype))]


@gradient("Imag")
def _imag_gradient(record: OpRecord, grad: Any) -> list[Any]:  # noqa: ARG001
    return [complexes.complex(constant(0, grad.dtype), grad)]


@gradient("Angle")
def _angle_gradient(record: OpRecord, grad: Any) -> list[Any]:
    """`-grad / (imag + i real)`."""
    x = record.inputs[0]
    with control_dependencies([grad]):
        real, imag = complexes.real(x), complexes.imag(x)
        inverse = call("Reciprocal", complexes.complex(imag, real))
        upstream = complexes.complex(grad, constant(0, grad.dtype))
        return [-upstream * inverse]


@gradient("Conj")
def _conj_gradient(record: OpRecord, grad: Any) -> list[Any]:  # noqa: ARG001
    return [lib.conj(grad)]


@gradient("ComplexAbs")
def _complex_abs_gradient(record: OpRecord, grad: Any) -> list[Any]:
    x, y = record.inputs[0], record.outputs[0]
    upstream = complexes.complex(grad, arrays.zeros_like(grad))
    return [div_no_nan(upstream * x, complexes.complex(y, arrays.zeros_like(y)))]


@gradient("ConjugateTranspose")
def _conjugate_transpose_gradient(record: OpRecord, grad: Any) -> list[Any]:
    order = arrays.invert_permutation(record.inputs[1])
    return [linalg_lib.transpose(grad, order, conjugate=True), None]
