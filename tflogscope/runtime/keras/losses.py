"""Losses: functions that give a number per example, and classes that reduce those to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import float32, int64
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.keras.state import (
    Configured,
    found,
    keras3,
    refuse,
    scope_of_keras3,
    snake_case,
)
from tflogscope.runtime.library import arrays, numbers
from tflogscope.runtime.library import nn as entropies

# -- functions


def _alike(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_pred = convert_to_tensor(y_pred)
    y_true = arrays.cast(y_true, y_pred.dtype)
    return same_rank(y_true, y_pred) if keras3() else (y_true, y_pred)


def same_rank(x: Any, y: Any) -> tuple[Any, Any]:
    one, two = x.shape.rank, y.shape.rank
    if one == two + 1 and x.shape[-1] == 1:
        return (x, O.ExpandDims(y, -1)) if two == 1 and keras3() else (arrays.squeeze(x, [-1]), y)
    if two == one + 1 and y.shape[-1] == 1:
        return (O.ExpandDims(x, -1), y) if one == 1 and keras3() else (x, arrays.squeeze(y, [-1]))
    return x, y


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
        raise NotInThisRuntime(
            "a cross entropy of what is neither logits nor of softmax or sigmoid"
        )
    return output if marked is None else marked


def _shares(y_true: Any, y_pred: Any, from_logits: bool) -> tuple[Any, Any]:
    y_pred = convert_to_tensor(y_pred)
    y_true = arrays.cast(y_true, y_pred.dtype)
    if not keras3():
        convert_to_tensor(0.0, y_pred.dtype)  # NB: how much to smooth; nothing reads it
    return y_true, _logits(y_pred, from_logits)


def binary_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    y_true, logits = _shares(y_true, y_pred, from_logits)
    entropy = entropies.sigmoid_cross_entropy_with_logits(labels=y_true, logits=logits)
    return numbers.reduce_mean(entropy, axis=-1)


def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    y_true, logits = _shares(y_true, y_pred, from_logits)
    return entropies.softmax_cross_entropy_with_logits(labels=y_true, logits=logits)


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    target = arrays.cast(convert_to_tensor(y_true), int64)
    output = _logits(convert_to_tensor(y_pred), from_logits)
    rank = output.shape.rank
    flatten = target.shape.rank != rank - 1
    entropy = entropies.sparse_softmax_cross_entropy_with_logits
    if keras3():
        target = arrays.squeeze(target, [-1]) if flatten else target
        return entropy(labels=target, logits=output)
    shape = arrays.shape(output)
    if flatten:
        target = arrays.reshape(target, [-1])
        output = arrays.reshape(output, [-1, shape[-1]])
    result = entropy(labels=target, logits=output)
    return arrays.reshape(result, shape[:-1]) if flatten and rank >= 3 else result


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        mean_squared_error, mean_absolute_error,
        binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy,
    )
} | {"mse": mean_squared_error, "mae": mean_absolute_error, "MSE": mean_squared_error}  # fmt: skip

# -- reduced to one number


class Loss(Configured):
    """A loss: the mean of what `call` gives per example. NB: no weights, masks, other reductions."""

    where = "tf.keras.losses."
    shared = {"name": None}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.configure(args, kwargs)
        self.name = self.name or snake_case(type(self).__name__)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        raise NotImplementedError

    def __call__(self, y_true: Any, y_pred: Any, **others: Any) -> Any:
        refuse("Loss", others)
        if keras3():
            with scope_of_keras3(self.name, self):
                y_pred, y_true = _as_float(y_pred), _as_float(y_true)
                return self._reduced3(self.call(y_true, y_pred))
        with context.name_scope(self.name.strip("_").replace("<lambda>", "lambda")):
            function = self.call if context.executing_eagerly() else convert(self.call)
            losses = function(y_true, y_pred)
            with context.name_scope("weighted_loss"):
                return self._reduced(losses)

    def _reduced(self, losses: Any) -> Any:
        losses = O.Mul(losses, arrays.cast(convert_to_tensor(1.0), losses.dtype))
        total = numbers.reduce_sum(losses)
        with context.name_scope("num_elements") as scope:
            number = arrays.cast(arrays.size(losses, name=scope), losses.dtype)
        # NB: the sum of a sum: Keras allows for several values here
        return numbers.div_no_nan(numbers.reduce_sum(total), number, name="value")

    def _reduced3(self, losses: Any) -> Any:
        if not losses.shape.rank:
            return losses
        total = numbers.reduce_sum(losses)
        return numbers.div_no_nan(total, arrays.cast(arrays.size(losses), total.dtype))


def _as_float(value: Any) -> Any:
    if isinstance(value, Tensor):
        return arrays.cast(value, float32)
    return convert_to_tensor(value, dtype=float32)


class LossFunctionWrapper(Loss):
    """A loss of a function."""

    shared = {"function": None, "name": None} | Loss.shared

    def call(self, y_true: Any, y_pred: Any) -> Any:
        y_true, y_pred = (convert_to_tensor(each) for each in (y_true, y_pred))
        if keras3() or y_pred.shape.rank - y_true.shape.rank != 1 or y_pred.shape[-1] == 1:
            y_true, y_pred = same_rank(y_true, y_pred)
        return self.function(y_true, y_pred, **{n: vars(self)[n] for n in self.options})


def _class(name: str) -> type[LossFunctionWrapper]:
    title = "".join(word.title() for word in name.split("_"))
    options = {"from_logits": False} if name.endswith("crossentropy") else {}
    own = {"function": FUNCTIONS[name], "name": name}
    body = {"options": options, "shared": LossFunctionWrapper.shared | own}
    return type(title, (LossFunctionWrapper,), {**body, "__module__": __name__})


CLASSES = {kind.__name__: kind for kind in map(_class, FUNCTIONS) if len(kind.__name__) > 3}


def get(identifier: Any) -> Any:
    if isinstance(identifier, str) and identifier in FUNCTIONS:
        identifier = FUNCTIONS[identifier]
    if callable(identifier) and not isinstance(identifier, (Loss, type)):
        name = getattr(identifier, "__name__", "loss")
        return LossFunctionWrapper(function=identifier, name=name)
    return found(identifier, CLASSES, "loss function")
