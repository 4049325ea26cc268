"""Values that may not be there: what a branch hands to its gradient, and what an iterator gives at
its end.

Told about: `core/kernels/optional_ops.cc`, `python/data/ops/optional_ops.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import SCALAR, as_shape
from tflogscope.runtime.tensors import Tensor

__all__ = ["OptionalValue"]


class OptionalValue:
    """Some values, or nothing."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[Any] | None) -> None:
        self.values = values

    def zeros_like(self) -> OptionalValue:
        """Zeros for what is there: what the op ZerosLike gives for an optional."""
        if self.values is None:
            return self
        return OptionalValue(
            [v.zeros_like() if hasattr(v, "zeros_like") else np.zeros_like(v) for v in self.values]
        )

    def __add__(self, other: OptionalValue) -> OptionalValue:
        """Value by value: what the op AddN does with optionals."""
        if self.values is None or other.values is None:
            return self
        return OptionalValue(
            [one + another for one, another in zip(self.values, other.values, strict=True)]
        )

    def __repr__(self) -> str:
        return "OptionalValue()" if self.values is None else f"OptionalValue({list(self.values)})"


def _scalar(i: Inference) -> Any:  # noqa: ARG001
    return SCALAR


def _values(i: Inference) -> list[Any]:
    return [as_shape(shape) for shape in i.attributes["output_shapes"]]


@op(
    "OptionalFromValue(components: list(Toutput_types); Toutput_types) -> optional: variant",
    _scalar,
)
def _from_value(*components: Any) -> OptionalValue:
    return OptionalValue(components)


@op("OptionalNone() -> optional: variant", _scalar)
def _none() -> OptionalValue:
    return OptionalValue(None)


@op("OptionalHasValue(optional: variant) -> has_value: bool", _scalar)
def _has_value(optional: OptionalValue) -> Any:
    return np.array(optional.values is not None)


@op(
    "OptionalGetValue(optional: variant; output_types, output_shapes) -> components: "
    "list(output_types)",
    _values,
)
def _get_value(optional: OptionalValue) -> Sequence[Any]:
    if optional.values is None:
        raise InvalidArgumentError(None, None, "The given optional does not have a value.")
    return tuple(optional.values)


@gradient("OptionalFromValue")
def _from_value_gradient(op: OpRecord, grad: Tensor) -> Sequence[Tensor | None]:
    types = tuple(tensor.dtype for tensor in op.inputs)
    shapes = tuple(tensor.shape for tensor in op.inputs)
    return list(results("OptionalGetValue", grad, output_types=types, output_shapes=shapes))


@gradient("OptionalGetValue")
def _get_value_gradient(op: OpRecord, *grads: Tensor) -> Sequence[Tensor | None]:  # noqa: ARG001
    return [call("OptionalFromValue", list(grads))]
