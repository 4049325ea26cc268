"""Small things about graphs and tensors that `tf` has at its top level.

Told about: `gradients_v2` of `ops/gradients_impl.py`, `framework/tensor_conversion_registry.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from tflogscope.runtime import conversion, nest
from tflogscope.runtime.context import executing_eagerly
from tflogscope.runtime.gradients.gradient_tape import UnconnectedGradients
from tflogscope.runtime.gradients.symbolic import gradients_of
from tflogscope.runtime.indexed_slices import IndexedSlices
from tflogscope.runtime.tensors import SymbolicTensor, Tensor, TensorSpec
from tflogscope.runtime.variables import Variable


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradients of the sum of `ys`, as nodes of the graph that is being built.

    Raises RuntimeError eagerly: there is no graph then; LookupError for ops without a gradient.
    """
    del aggregation_method
    if executing_eagerly():
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. "
            "Use tf.GradientTape instead."
        )
    return gradients_of(
        nest.flatten(ys),
        nest.flatten(xs),
        None if grad_ys is None else nest.flatten(grad_ys),
        stop_at=() if stop_gradients is None else nest.flatten(stop_gradients),
        zeros=UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO,
        gate=gate_gradients,
        name=name,
    )


def hessians(
    ys: Any,
    xs: Any,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    name: str = "hessians",
) -> list[Tensor]:
    """For each of `xs` the second derivatives of the sum of `ys`: a loop over the elements of the
    first ones. Told about: `HessiansV2`.
    """
    from tflogscope.runtime.control_flow.tensor_array import TensorArray
    from tflogscope.runtime.control_flow.while_loop import while_loop
    from tflogscope.runtime.library import arrays
    from tflogscope.runtime.library.joining import concat

    del name
    options: Any = {"gate_gradients": gate_gradients, "aggregation_method": aggregation_method}
    found = []
    xs = nest.flatten(xs)
    for first, x in zip(gradients(ys, xs, **options), xs, strict=True):
        gradient, count = arrays.reshape(first, [-1]), arrays.size(x)
        rows = TensorArray(x.dtype, count)

        def step(j: Any, rows: Any, gradient: Any = gradient, x: Any = x) -> Any:
            return j + 1, rows.write(j, gradients(gradient[j], x)[0])

        loop = [conversion.constant(0), rows]
        _, rows = while_loop(lambda j, _, count=count: j < count, step, loop)
        shape = arrays.shape(x)
        found.append(arrays.reshape(rows.stack(), concat([shape, shape], 0)))
    return found


def type_spec_from_value(value: Any) -> Any:
    """What kind of value it is. Told about: `framework/type_spec.py`."""
    if isinstance(value, (Tensor, Variable)):
        name = value.op.name if isinstance(value, SymbolicTensor) else None
        return TensorSpec(value.shape, value.dtype, name)
    if hasattr(value, "_type_spec"):
        return value._type_spec  # noqa: SLF001
    tensor: Tensor = conversion.convert_to_tensor(value)
    return TensorSpec(tensor.shape, tensor.dtype)


def get_logger() -> logging.Logger:
    """The logger that TensorFlow's Python code writes to."""
    return logging.getLogger("tensorflow")


def is_tensor(x: Any) -> bool:
    """Is it a tensor, a variable or another thing that TensorFlow has tensors in?"""
    return isinstance(x, (Tensor, Variable, IndexedSlices)) or hasattr(x, "_type_spec")


def is_symbolic_tensor(tensor: Any) -> bool:
    """Is it a tensor of a graph?"""
    return isinstance(tensor, SymbolicTensor)


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...],
    conversion_func: Callable[..., Any],
    priority: int = 100,
) -> None:
    """Have `tf.convert_to_tensor` take objects of that class.

    `conversion_func(value, dtype, name, as_ref)` gives a tensor, or NotImplemented.
    """
    del priority

    def convert(value: Any, dtype: Any, name: str | None) -> Any:
        return conversion_func(value, dtype=dtype, name=name, as_ref=False)

    conversion.register_conversion(base_type, convert)
