"""Gradients: how each op is differentiated, and the two ways to go backwards over many.

registry.py        the gradient function of each op type: `@gradient("Tanh")`
backprop.py        backwards over what a tape remembers, op by op, eagerly or while tracing
gradient_tape.py   `tf.GradientTape`, with jacobian.py
symbolic.py        backwards over a graph (`tf.gradients`), also what makes a function's
                   backward function
custom.py          `tf.custom_gradient`, `tf.stop_gradient`'s general form
"""

from __future__ import annotations

from tflogscope.runtime.gradients.registry import gradient, gradient_function, not_differentiable

__all__ = ["gradient", "gradient_function", "not_differentiable"]
