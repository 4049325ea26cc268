"""What layers, losses and optimizers are made of, where Keras 2 and Keras 3 call different ops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.dtypes import int32, int64
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.keras.state import found, keras3, scope_of_keras3
from tflogscope.runtime.library import arrays, matrices, nn, numbers

# -- activations: functions of a layer's outputs


def _marked(function: Callable[..., Any]) -> Callable[..., Any]:
    """It gives its logits along: cross entropies take those."""

    def apply(x: Any) -> Any:
        output = function(x)
        output._keras_logits = x
        return output

    apply.__name__ = function.__name__
    return apply


def linear(x: Any) -> Any:
    return x


ACTIVATIONS: dict[str, Any] = {
    "linear": linear,
    "relu": O.Relu,
    "softmax": _marked(nn.softmax),
    "sigmoid": _marked(numbers.sigmoid),
    "tanh": O.Tanh,
    "elu": O.Elu,
    "gelu": nn.gelu,
    "softplus": O.Softplus,
}


def activation(identifier: Any) -> Any:
    return found("linear" if identifier is None else identifier, ACTIVATIONS, "activation")


# -- variables


def make_variable(
    owner: Any, name: Any, shape: Any, initialize: Any, dtype: Any, *, trainable: bool, lifted: bool
) -> Any:
    """A variable of a layer, a metric or an optimizer; `lifted`: out of the function being traced."""
    with (
        scope_of_keras3(owner.name, owner) if keras3() else nullcontext(),
        context.init_scope() if lifted else nullcontext(),
    ):
        return Variable(
            lambda: initialize(shape, dtype=dtype),
            trainable=trainable,
            name=name,
            dtype=dtype,
            shape=shape,
        )


# -- products


def matmul(x: Any, kernel: Any) -> Any:
    """The product over the last dimension of `x`."""
    rank = x.shape.rank
    if rank is None or rank == 2:
        return matrices.matmul(x, kernel)
    product = matrices.tensordot(x, kernel, [[rank - 1], [0]])
    if not context.executing_eagerly():
        product.set_shape([*x.shape.as_list()[:-1], kernel.shape[-1]])
    return product


def add_bias(x: Any, bias: Any, *, of_window: bool = False) -> Any:
    """`x + bias`. NB: Keras 3 reshapes the bias of a convolution, and back."""
    if of_window and keras3():
        bias = arrays.squeeze(arrays.reshape(bias, (1,) * (len(x.shape) - 1) + tuple(bias.shape)))
    return nn.bias_add(x, bias, data_format="NHWC")


def subtract(x: Any, y: Any) -> Any:
    """`x - y`. NB: by another name in Keras 3."""
    return O.Sub(x, y) if keras3() else x - y


def multiply(x: Any, y: Any) -> Any:
    """`x * y`. NB: by another name in Keras 3."""
    return O.Mul(x, y) if keras3() else x * y


def accumulate(variable: Any, value: Any) -> Any:
    """Add to a variable of a metric. NB: Keras 3 reads it, adds, and assigns the sum."""
    return variable.assign(variable + value) if keras3() else variable.assign_add(value)


# -- of losses and metrics


def argmax(x: Any) -> Any:
    """The index of the largest along the last dimension. NB: Keras 3 takes care of -0.0 first."""
    return numbers.argmax(x, axis=-1, output_type=int32 if keras3() else int64)
