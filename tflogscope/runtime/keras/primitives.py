"""What layers, losses and optimizers are made of, where Keras 2 and Keras 3 call different ops."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype, float32, int32
from tflogscope.runtime.function.branches import cond
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.keras.initializers import default_seed, stateless_seed
from tflogscope.runtime.keras.state import call_state, keras3
from tflogscope.runtime.library import arrays, matrices, nn, numbers
from tflogscope.runtime.library import random as random_ops
from tflogscope.runtime.library.slices import gather, where
from tflogscope.runtime.library.slopes import IndexedSlices

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


def take(table: Any, indices: Any) -> Any:
    """Rows of a variable. NB: Keras 3 counts negative indices from the end."""
    if not keras3():
        return nn.embedding_lookup(table, indices)
    below = O.Less(indices, 0)
    from_start = indices + arrays.cast(arrays.shape_v2(table)[0], indices.dtype)
    return gather(table, where(below, from_start, indices), axis=0)


def einsum(equation: str, *operands: Any) -> Any:
    """`tf.einsum`. NB: Keras 3 knows matrix products that do the same, with lengths known."""
    if keras3():
        letters: dict[str, str] = {}
        for each in filter(str.isalpha, equation):
            letters.setdefault(each, string.ascii_letters[len(letters)])
        equation = "".join(letters.get(each, each) for each in equation)
        found = _as_matmul(equation, *operands)
        if found is not None:
            return found
    return matrices.einsum(equation, *operands)


def _as_matmul(equation: str, x: Any, y: Any) -> Any:
    """NB: the cases that attention has; Keras' table has some twenty."""
    steps = x.shape[1]
    if steps is None:
        return None
    if equation == "abc,cde->abde":
        width, heads, size = y.shape.as_list()
        product = matrices.matmul(x, arrays.reshape(y, [width, -1]))
        return arrays.reshape(product, [-1, steps, heads, size])
    if equation == "abcd,cde->abe":
        heads, size, width = y.shape.as_list()
        together = arrays.reshape(x, [-1, steps, heads * size])
        return matrices.matmul(together, arrays.reshape(y, [-1, width]))
    return None


# -- arithmetic: of Keras 3 also on IndexedSlices, the gradients of embeddings


def _dense(x: Any) -> Any:
    return convert_to_tensor(x) if isinstance(x, IndexedSlices) else x


def _rows(function: Callable[..., Any], one: IndexedSlices, *others: Any) -> IndexedSlices:
    return IndexedSlices(function(one.values, *others), one.indices, one.dense_shape)


def _pair(x: Any, y: Any) -> tuple[Any, Any]:
    typed = next(each for each in (x, y) if hasattr(each, "dtype"))
    return convert_to_tensor(x, typed.dtype), convert_to_tensor(y, typed.dtype)


def add(x: Any, y: Any) -> Any:
    """`x + y`."""
    return numbers.add(*_pair(_dense(x), _dense(y)))


def subtract(x: Any, y: Any) -> Any:
    """`x - y`."""
    return O.Sub(*_pair(_dense(x), _dense(y))) if keras3() else x - y


def square(x: Any) -> Any:
    """`x * x`; of slices only their rows."""
    return _rows(O.Square, x) if isinstance(x, IndexedSlices) else O.Square(x)


def multiply(x: Any, y: Any) -> Any:
    """`x * y`; of slices and a number only their rows."""
    if not keras3():
        return x * y
    if isinstance(y, IndexedSlices):
        x, y = y, x
    if isinstance(x, IndexedSlices):
        return _rows(lambda values: O.Mul(*_pair(values, y)), x)
    return O.Mul(*_pair(x, y))


def divide(x: Any, y: Any) -> Any:
    """`x / y`; slices by a tensor: by its rows, and by all of it where that is 0 or NaN."""
    if not isinstance(x, IndexedSlices):
        return numbers.truediv(*_pair(x, y))
    bad = O.LogicalOr(O.Equal(y, 0), O.IsNan(y))
    special = numbers.reduce_any(bad, axis=tuple(range(1, y.shape.rank)))

    def at_indices() -> Any:
        found = _rows(numbers.truediv, x, gather(y, x.indices))
        return found.values, found.indices

    def everywhere() -> Any:
        whole = numbers.truediv(convert_to_tensor(x), y)
        return whole, arrays.range_(arrays.shape(y, out_type=x.indices.dtype)[0])

    values, indices = cond(numbers.reduce_any(special), everywhere, at_indices)
    return IndexedSlices(values, indices, x.dense_shape)


def accumulate(variable: Any, value: Any) -> Any:
    """Add to a variable of a metric. NB: Keras 3 reads it, adds, and assigns the sum."""
    return variable.assign(variable + value) if keras3() else variable.assign_add(value)


# -- of losses and metrics


def argmax(x: Any) -> Any:
    """The index of the largest along the last dimension. NB: for Keras 3 -0.0 is less than 0.0."""
    if not keras3():
        return numbers.argmax(x, axis=-1)
    negative_zero = O.LogicalAnd(O.Equal(x, 0.0), _signbit(x))
    x = where(negative_zero, -np.finfo(x.dtype.as_numpy_dtype).tiny, x)
    return numbers.argmax(x, axis=-1, output_type=int32)


def _signbit(x: Any) -> Any:
    bits = O.Bitcast(arrays.cast(x, float32), type=int32)
    return O.Less(O.BitwiseAnd(bits, constant(int32.min, int32)), 0)


def as_floats(matches: Any) -> Any:
    return arrays.cast(matches, float32)


def size_of(values: Any) -> Any:
    """How many numbers. NB: Keras 3 multiplies the dimensions by an op."""
    if not keras3():
        return arrays.size(values)
    dims = values.shape.as_list()
    dynamic = arrays.shape_v2(values)
    return numbers.reduce_prod(
        convert_to_tensor([dynamic[i] if each is None else each for i, each in enumerate(dims)])
    )


# -- draws


class Draws:
    """The random numbers of a layer: in Keras 3 the seed is a variable, which counts the draws."""

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed
        self.state: Any = None
        if keras3():
            first = default_seed() if seed is None else seed
            with context.init_scope():
                self.state = Variable(
                    lambda: convert_to_tensor([first, 0], "int64"),
                    name="seed_generator_state",
                    dtype="int64",
                    trainable=False,
                )

    def dropout(self, inputs: Any, rate: float) -> Any:
        """Some of the inputs set to 0, the others larger for it."""
        if not keras3():
            if self._seed is not None:
                self._seed += 1
            return nn.dropout(inputs, rate, seed=self._seed)
        seed = self.state * 1
        step = convert_to_tensor(np.array([0, 1]), self.state.dtype)
        total = add(self.state, step)
        if not call_state.symbolic:
            self.state.assign(total)
        drawn = stateless_seed(seed)
        shape = arrays.shape_v2(inputs)

        def sample(dims: Any, dtype: Any) -> Any:
            return random_ops.stateless_uniform(dims, drawn, dtype=as_dtype(dtype))

        with context.op_scope(None, "stateless_dropout"):
            return nn.general_dropout(inputs, rate, sample, shape)
