"""What an optimizer does to a variable, as one op: ResourceApplyAdam and others.

`delta` and `grad` are the gradient; the other inputs are the optimizer's numbers and its slots,
resources too.

Told about: `core/kernels/training_ops.cc`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.ops.declare import op, unknown_shape
from tflogscope.runtime.ops.state import value_of
from tflogscope.runtime.resources import Resource

Array = NDArray[Any]


def _checked(var: Resource, grad: Array) -> Array:
    """The variable's value. Raises InvalidArgumentError if the gradient has another shape."""
    value = value_of(var)
    if value.shape != grad.shape:
        raise InvalidArgumentError(
            None,
            None,
            f"var and grad do not have the same shape{list(value.shape)} {list(grad.shape)}",
        )
    return value


def _put(resource: Resource, value: Any) -> Any:
    """The new value, in the dtype of the old one."""
    resource.value = np.asarray(value, value_of(resource).dtype)
    return resource.value


def _apply(line: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return op(line, shape=unknown_shape, stateful=True)


@_apply("ResourceApplyGradientDescent(var: resource, alpha: T, delta: T; use_locking=False)")
def _gradient_descent(var: Resource, alpha: Array, delta: Array) -> None:
    _put(var, _checked(var, delta) - alpha * delta)


@_apply(
    "ResourceApplyMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T; "
    "use_locking=False, use_nesterov=False)"
)
def _momentum(
    var: Resource, accum: Resource, lr: Array, grad: Array, momentum: Array, use_nesterov: bool
) -> None:
    """The learning rate is not part of the accumulated gradient."""
    value = _checked(var, grad)
    speed = _put(accum, value_of(accum) * momentum + grad)
    _put(var, value - (grad + speed * momentum if use_nesterov else speed) * lr)


@_apply(
    "ResourceApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T; "
    "use_locking=False, use_nesterov=False)"
)
def _keras_momentum(
    var: Resource, accum: Resource, lr: Array, grad: Array, momentum: Array, use_nesterov: bool
) -> None:
    """The learning rate is part of it."""
    value = _checked(var, grad)
    speed = _put(accum, value_of(accum) * momentum - grad * lr)
    _put(var, value + (speed * momentum - grad * lr if use_nesterov else speed))


@_apply(
    "ResourceApplyAdam(var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, "
    "lr: T, beta1: T, beta2: T, epsilon: T, grad: T; use_locking=False, use_nesterov=False)"
)
def _adam(
    var: Resource,
    m: Resource,
    v: Resource,
    beta1_power: Array,
    beta2_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
    use_nesterov: bool,
) -> None:
    value = _checked(var, grad)
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    first = _put(m, value_of(m) + (grad - value_of(m)) * (1 - beta1))
    second = _put(v, value_of(v) + (grad * grad - value_of(v)) * (1 - beta2))
    step = first * beta1 + (1 - beta1) * grad if use_nesterov else first
    _put(var, value - rate * step / (np.sqrt(second) + epsilon))


@_apply(
    "ResourceApplyAdamWithAmsgrad(var: resource, m: resource, v: resource, vhat: resource, "
    "beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T; "
    "use_locking=False)"
)
def _amsgrad(
    var: Resource,
    m: Resource,
    v: Resource,
    vhat: Resource,
    beta1_power: Array,
    beta2_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
) -> None:
    value = _checked(var, grad)
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    first = _put(m, value_of(m) + (grad - value_of(m)) * (1 - beta1))
    second = _put(v, value_of(v) + (grad * grad - value_of(v)) * (1 - beta2))
    largest = _put(vhat, np.maximum(value_of(vhat), second))
    _put(var, value - rate * first / (np.sqrt(largest) + epsilon))


@_apply(
    "ResourceApplyAdaMax(var: resource, m: resource, v: resource, beta1_power: T, lr: T, beta1: "
    "T, beta2: T, epsilon: T, grad: T; use_locking=False)"
)
def _adamax(
    var: Resource,
    m: Resource,
    v: Resource,
    beta1_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
) -> None:
    value = _checked(var, grad)
    first = _put(m, value_of(m) + (grad - value_of(m)) * (1 - beta1))
    largest = _put(v, np.maximum(beta2 * value_of(v), np.abs(grad)))
    _put(var, value - lr / (1 - beta1_power) * (first / (largest + epsilon)))


@_apply(
    "ResourceApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T; "
    "use_locking=False, update_slots=True)"
)
def _adagrad(
    var: Resource, accum: Resource, lr: Array, epsilon: Array, grad: Array, update_slots: bool
) -> None:
    value = _checked(var, grad)
    if update_slots:
        _put(accum, value_of(accum) + grad * grad)
    _put(var, value - lr * grad / (np.sqrt(value_of(accum)) + epsilon))


@_apply(
    "ResourceApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, "
    "epsilon: T, grad: T; use_locking=False)"
)
def _adadelta(
    var: Resource,
    accum: Resource,
    accum_update: Resource,
    lr: Array,
    rho: Array,
    epsilon: Array,
    grad: Array,
) -> None:
    value = _checked(var, grad)
    squares = _put(accum, value_of(accum) * rho + grad * grad * (1 - rho))
    update = np.sqrt(value_of(accum_update) + epsilon) / np.sqrt(squares + epsilon) * grad
    _put(var, value - lr * update)
    _put(accum_update, value_of(accum_update) * rho + update * update * (1 - rho))


@_apply(
    "ResourceApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, "
    "epsilon: T, grad: T; use_locking=False)"
)
def _rmsprop(
    var: Resource,
    ms: Resource,
    mom: Resource,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Array,
    grad: Array,
) -> None:
    value = _checked(var, grad)
    squares = _put(ms, value_of(ms) + (grad * grad - value_of(ms)) * (1 - rho))
    speed = _put(mom, value_of(mom) * momentum + grad * lr / np.sqrt(squares + epsilon))
    _put(var, value - speed)


@_apply(
    "ResourceApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: resource, lr: "
    "T, rho: T, momentum: T, epsilon: T, grad: T; use_locking=False)"
)
def _centered_rmsprop(
    var: Resource,
    mg: Resource,
    ms: Resource,
    mom: Resource,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Array,
    grad: Array,
) -> None:
    value = _checked(var, grad)
    squares = _put(ms, value_of(ms) + (grad * grad - value_of(ms)) * (1 - rho))
    mean = _put(mg, value_of(mg) + (grad - value_of(mg)) * (1 - rho))
    speed = _put(
        mom, value_of(mom) * momentum + grad * lr / np.sqrt(squares - mean * mean + epsilon)
    )
    _put(var, value - speed)


@_apply(
    "ResourceApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, "
    "l2: T, lr_power: T; use_locking=False, multiply_linear_by_lr=False)"
)
def _ftrl(
    var: Resource,
    accum: Resource,
    linear: Resource,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    lr_power: Array,
) -> None:
    value, old = _checked(var, grad), value_of(accum)
    new = old + grad * grad
    sums = _put(linear, value_of(linear) + grad - (new**-lr_power - old**-lr_power) / lr * value)
    quadratic = new**-lr_power / lr + 2 * l2
    _put(var, np.where(np.abs(sums) > l1, (np.sign(sums) * l1 - sums) / quadratic, 0))
    _put(accum, new)
