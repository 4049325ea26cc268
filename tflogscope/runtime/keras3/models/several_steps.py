"""Several steps in one call (`steps_per_execution`): a loop over batches within the graph.

What a step gives is an optional, so that the loop can begin with none. What kind of element is in
it is known when the first step has been traced.

Told about: `_make_function` of `keras/src/backend/tensorflow/trainer.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.data.iterator import Optional

__all__ = ["several_steps"]


def several_steps(step: Callable[[Any], Any], iterator: Any, count: int) -> Any:
    """What the last of so many steps gives, or of as many as there are batches for."""
    empty = Optional.empty(None)

    def goes_on(number: Any, data: Any) -> Any:
        return tf.logical_and(tf.less(number, count), data.has_value())

    def body(number: Any, outputs: Any, data: Any) -> Any:
        def one_more() -> Any:
            found = Optional.from_value(step(data.get_value()))
            empty.element_spec = found.element_spec
            return found

        def no_more() -> Any:
            outputs.element_spec = empty.element_spec
            return outputs

        found = tf.cond(goes_on(number, data), one_more, no_more)
        after = tf.cond(tf.less(number + 1, count), iterator.get_next_as_optional, lambda: data)
        return number + 1, found, after

    number = tf.constant(0)
    data = iterator.get_next_as_optional()
    _, found, _ = tf.while_loop(
        lambda number, _, data: goes_on(number, data), body, loop_vars=[number, empty, data]
    )
    found.element_spec = empty.element_spec
    return found
