"""Losses: functions that give a number per example, and classes that reduce those to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import float32, int64
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.keras.state import Configured, found, keras3, scope_of_keras3, snake_case
from tflogscope.runtime.library import arrays, numbers
from tflogscope.runtime.library import nn as entropies

# -- functions


def same_rank(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Of a vector and a column two vectors. NB: in Keras 3 two columns."""
    if y_true.shape.rank != 1 or y_pred.shape.rank != 2 or y_pred.shape[-1] != 1:
        return y_true, y_pred
    if keras3():
        return O.ExpandDims(y_true, -1), y_pred
    return y_true, arrays.squeeze(y_pred, [-1])


def _alike(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_pred = convert_to_tensor(y_pred)
    y_true = arrays.cast(y_true, y_pred.dtype)
    return same_rank(y_true, y_pred) if keras3() else (y_true, y_pred)


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _alike(y_true, y_pred)
    squares = O.Square(y_true - y_pred) if keras3() else O.SquaredDifference(y_pred, y_true)
    return numbers.reduce_mean(squares, axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    y_true, y_pred = _alike(y_true, y_pred)
    difference = y_true - y_pred if keras3() else y_pred - y_true
    return numbers.reduce_mean(O.Abs(difference), axis=-1)


def _logits(output: Any, from_logits: bool) -> Any:
    """NB: Keras takes probabilities too; here they are softmax's or sigmoid's, which keep theirs."""
    marked = getattr(output, "_keras_logits", None)
    if marked is None and not from_logits:
        raise NotInThisRuntime("a cross entropy of what is not logits, softmax's or sigmoid's")
    return output if marked is None else marked


def _shares(y_true: Any, y_pred: Any, from_logits: bool) -> dict[str, Any]:
    y_pred = convert_to_tensor(y_pred)
    y_true = arrays.cast(y_true, y_pred.dtype)
    if not keras3():
        convert_to_tensor(0.0, y_pred.dtype)  # NB: how much to smooth; nothing reads it
    return {"labels": y_true, "logits": _logits(y_pred, from_logits)}


def binary_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    given = _shares(y_true, y_pred, from_logits)
    return numbers.reduce_mean(entropies.sigmoid_cross_entropy_with_logits(**given), axis=-1)


def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    return entropies.softmax_cross_entropy_with_logits(**_shares(y_true, y_pred, from_logits))


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    target = arrays.cast(convert_to_tensor(y_true), int64)
    output = _logits(convert_to_tensor(y_pred), from_logits)
    column = target.shape.rank == output.shape.rank
    if keras3():
        target = arrays.squeeze(target, [-1]) if column else target
    else:
        shape = arrays.shape(output)
        if column:
            target = arrays.reshape(target, [-1])
            output = arrays.reshape(output, [-1, shape[-1]])
    return entropies.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        mean_squared_error, mean_absolute_error,
        binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy,
    )
}  # fmt: skip
SHORT = {"mse": mean_squared_error, "mae": mean_absolute_error}

# -- reduced to one number


class Loss(Configured):
    """The mean of what a function gives per example. NB: no weights, masks, other reductions."""

    where = "tf.keras.losses."
    shared = {"function": None, "name": None}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.configure(args, kwargs)
        self.name = self.name or snake_case(type(self).__name__)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        y_true, y_pred = same_rank(convert_to_tensor(y_true), convert_to_tensor(y_pred))
        return self.function(y_true, y_pred, **{n: vars(self)[n] for n in self.options})

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        if keras3():
            with scope_of_keras3(self.name, self):
                y_pred, y_true = (arrays.cast(each, float32) for each in (y_pred, y_true))
                return self._mean3(self.call(y_true, y_pred))
        with context.name_scope(self.name.strip("_").replace("<lambda>", "lambda")):
            function = self.call if context.executing_eagerly() else convert(self.call)
            losses = function(y_true, y_pred)
            with context.name_scope("weighted_loss"):
                return self._mean(losses)

    def _mean(self, losses: Any) -> Any:
        losses = O.Mul(losses, arrays.cast(convert_to_tensor(1.0), losses.dtype))
        total = numbers.reduce_sum(losses)
        with context.name_scope("num_elements") as scope:
            number = arrays.cast(arrays.size(losses, name=scope), losses.dtype)
        # NB: the sum of a sum: Keras allows for several values here
        return numbers.div_no_nan(numbers.reduce_sum(total), number, name="value")

    def _mean3(self, losses: Any) -> Any:
        total = numbers.reduce_sum(losses)
        return numbers.div_no_nan(total, arrays.cast(arrays.size(losses), total.dtype))


def class_of(function: Callable[..., Any], base: type[Any], body: dict[str, Any]) -> type[Any]:
    """`MeanSquaredError` of `mean_squared_error`."""
    title = "".join(word.title() for word in function.__name__.split("_"))
    return type(title, (base,), {"__module__": __name__, **body})


def _class(name: str, function: Callable[..., Any]) -> type[Any]:
    options = {"from_logits": False} if name.endswith("crossentropy") else {}
    shared = {"function": function, "name": name}
    return class_of(function, Loss, {"options": options, "shared": shared})


CLASSES = {kind.__name__: kind for kind in map(_class, FUNCTIONS, FUNCTIONS.values())}
_BY_NAME = FUNCTIONS | SHORT | CLASSES


def get(identifier: Any) -> Any:
    one = found(identifier, _BY_NAME, "loss function")
    if isinstance(one, Loss):
        return one
    return Loss(function=one, name=getattr(one, "__name__", "loss"))
