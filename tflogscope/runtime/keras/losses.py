"""Losses: functions that give a number per example, and classes that reduce those to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import float32, int64
from tflogscope.runtime.core.tensors import SymbolicTensor, Tensor
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.keras.primitives import size_of
from tflogscope.runtime.keras.state import epsilon, keras3, mask_of, scope_of_keras3, snake_case
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


def _logits(output: Any, from_logits: bool, op_type: str) -> tuple[Any, bool]:
    marked = getattr(output, "_keras_logits", None)
    if marked is not None:
        return marked, True
    if isinstance(output, SymbolicTensor) and output.op.type == op_type:
        return output.op.inputs[0], True
    return output, from_logits


def _without_smoothing(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_pred = convert_to_tensor(y_pred)
    y_true = arrays.cast(y_true, y_pred.dtype)
    if not keras3():
        convert_to_tensor(0.0, y_pred.dtype)  # NB: how much to smooth; nothing reads it
    return y_true, y_pred


def binary_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    y_true, y_pred = _without_smoothing(y_true, y_pred)
    output, from_logits = _logits(y_pred, from_logits, "Sigmoid")
    if from_logits:
        entropy = entropies.sigmoid_cross_entropy_with_logits(labels=y_true, logits=output)
        return numbers.reduce_mean(entropy, axis=-1)
    output = _clipped(output)
    small = 0.0 if keras3() else epsilon()
    one, other = (output, 1 - output) if keras3() else (output + small, 1 - output + small)
    entropy = y_true * O.Log(one)
    entropy += (1 - y_true) * O.Log(other)
    return numbers.reduce_mean(-entropy, axis=-1)


def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    y_true, y_pred = _without_smoothing(y_true, y_pred)
    output, from_logits = _logits(y_pred, from_logits, "Softmax")
    if from_logits:
        return entropies.softmax_cross_entropy_with_logits(labels=y_true, logits=output)
    output = output / numbers.reduce_sum(output, -1, keepdims=True)
    return -numbers.reduce_sum(y_true * O.Log(_clipped(output)), -1)


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    target = arrays.cast(convert_to_tensor(y_true), int64)
    output, from_logits = _logits(convert_to_tensor(y_pred), from_logits, "Softmax")
    if not from_logits:
        output = O.Log(_clipped(output))
    rank = output.shape.rank
    flatten = target.shape.rank != rank - 1
    if keras3():
        if flatten:
            target = arrays.squeeze(target, [-1])
        return entropies.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)
    shape = arrays.shape_v2(output)
    if flatten:
        target = arrays.reshape(target, [-1])
        output = arrays.reshape(output, [-1, shape[-1]])
    result = entropies.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)
    return arrays.reshape(result, shape[:-1]) if flatten and rank >= 3 else result


def _clipped(output: Any) -> Any:
    small = epsilon() if keras3() else constant(epsilon(), output.dtype)
    return numbers.clip_by_value(output, small, 1.0 - small)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        mean_squared_error, mean_absolute_error,
        binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy,
    )
} | {"mse": mean_squared_error, "mae": mean_absolute_error, "MSE": mean_squared_error}  # fmt: skip

# -- reduced to one number


class Loss:
    """A loss: what `call` gives per example, weighted and reduced."""

    def __init__(self, reduction: Any = "sum_over_batch_size", name: str | None = None) -> None:
        self.reduction = "sum_over_batch_size" if reduction == "auto" else reduction
        self.name = name or snake_case(type(self).__name__)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        raise NotImplementedError

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        if keras3():
            with scope_of_keras3(self.name, self):
                mask = mask_of(y_pred)
                y_pred, y_true = (nest.map_structure(_as_float, each) for each in (y_pred, y_true))
                return _reduced3(self.call(y_true, y_pred), sample_weight, mask, self.reduction)
        with context.name_scope(self.name.strip("_").replace("<lambda>", "lambda")):
            function = self.call if context.executing_eagerly() else convert(self.call)
            losses, mask = function(y_true, y_pred), mask_of(y_pred)
            if mask is not None:
                mask = arrays.cast(mask, losses.dtype)
                if self.reduction == "sum_over_batch_size":
                    total = arrays.cast(arrays.size(mask), losses.dtype)
                    mask *= total / numbers.reduce_sum(mask)
                sample_weight = mask if sample_weight is None else sample_weight * mask
            return _reduced(losses, sample_weight, self.reduction)


def _as_float(value: Any) -> Any:
    if isinstance(value, Tensor):
        return arrays.cast(value, float32)
    return convert_to_tensor(value, dtype=float32)


def _reduced(losses: Any, weights: Any, reduction: Any) -> Any:
    with context.name_scope("weighted_loss"):
        losses = convert_to_tensor(losses)
        weights = convert_to_tensor(1.0 if weights is None else weights)
        weights = arrays.cast(weights, losses.dtype)
        if weights.shape.rank:
            losses, weights = same_rank(losses, weights)
        losses = O.Mul(losses, weights)
        if reduction in {"none", None}:
            return losses
        total = numbers.reduce_sum(losses)
        if reduction == "sum":
            return total
        with context.name_scope("num_elements") as scope:
            number = arrays.cast(arrays.size(losses, name=scope), losses.dtype)
        return numbers.div_no_nan(numbers.reduce_sum(total), number, name="value")


def _reduced3(losses: Any, weights: Any, mask: Any, reduction: Any) -> Any:
    if mask is not None:
        mask = arrays.cast(mask, losses.dtype)
        total = arrays.cast(size_of(mask), losses.dtype)
        scale = numbers.div_no_nan(total, numbers.reduce_sum(mask))
        mask = O.SelectV2(arrays.cast(mask, "bool"), scale, constant(0.0, losses.dtype))
        weights = mask if weights is None else weights * mask
    if weights is not None:
        losses, weights = same_rank(losses, arrays.cast(weights, losses.dtype))
        losses = losses * weights
    if reduction in {"none", None} or not losses.shape.rank:
        return losses
    total = numbers.reduce_sum(losses)
    if reduction == "sum":
        return total
    return numbers.div_no_nan(total, arrays.cast(size_of(losses), total.dtype))


class LossFunctionWrapper(Loss):
    """A loss of a function."""

    function: Callable[..., Any]
    default_name = "loss"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        shared = {key: kwargs.pop(key) for key in ("reduction", "name") if key in kwargs}
        self.function = kwargs.pop("function", None) or type(self).function
        names = self.function.__code__.co_varnames[2 : self.function.__code__.co_argcount]
        self._options = dict(zip(names, args, strict=False)) | kwargs
        super().__init__(**{"name": self.default_name} | shared)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        y_true, y_pred = (convert_to_tensor(each) for each in (y_true, y_pred))
        if keras3() or y_pred.shape.rank - y_true.shape.rank != 1 or y_pred.shape[-1] == 1:
            y_true, y_pred = same_rank(y_true, y_pred)
        return self.function(y_true, y_pred, **self._options)


def _class(name: str) -> type[LossFunctionWrapper]:
    words = (word.title() for word in name.split("_"))
    title = "".join(words)
    body = {"function": staticmethod(FUNCTIONS[name]), "default_name": name}
    return type(title, (LossFunctionWrapper,), {**body, "__module__": __name__})


CLASSES = {kind.__name__: kind for kind in map(_class, FUNCTIONS) if len(kind.__name__) > 3}


def get(identifier: Any) -> Any:
    if identifier is None or isinstance(identifier, Loss):
        return identifier
    if isinstance(identifier, str):
        if identifier not in FUNCTIONS | CLASSES:
            raise ValueError(f"Unknown loss function: '{identifier}'.")
        identifier = (FUNCTIONS | CLASSES)[identifier]
    if isinstance(identifier, type):
        return identifier()
    name = getattr(identifier, "__name__", "loss")
    return LossFunctionWrapper(function=identifier, name=name)
