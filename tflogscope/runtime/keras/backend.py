"""What all of Keras shares: default dtype, names, the random numbers of initializers and dropout,
whether we are training.

Told about: `keras/src/backend.py` and `engine/base_layer_utils.py` (`CallContext`).
"""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.context import innermost_graph
from tflogscope.runtime.function.func_graph import FuncGraph

__all__ = [
    "RandomGenerator",
    "clear_session",
    "epsilon",
    "floatx",
    "get_uid",
    "to_snake_case",
    "unique_name",
    "unknown",
]

_settings: dict[str, Any] = {"floatx": "float32", "epsilon": 1e-7}


def floatx() -> str:
    """The dtype of weights and inputs where nothing else is asked for."""
    return str(_settings["floatx"])


def set_floatx(value: str) -> None:
    """Change it. Raises ValueError for what is no float."""
    if value not in {"float16", "float32", "float64"}:
        raise ValueError(
            f"Unknown `floatx` value: {value}. Expected one of {{'float16', 'float32', 'float64'}}"
        )
    _settings["floatx"] = value


def epsilon() -> float:
    """A small number that keeps logarithms finite."""
    return float(_settings["epsilon"])


def set_epsilon(value: float) -> None:
    """Another small number."""
    _settings["epsilon"] = value


def image_data_format() -> str:
    """Where images have their channels: always last in this runtime's defaults."""
    return "channels_last"


# Names

_uids: Counter[str] = Counter()
_uids_in_graphs: WeakKeyDictionary[Any, Counter[str]] = WeakKeyDictionary()


def get_uid(prefix: str) -> int:
    """1, 2, … for each prefix."""
    _uids[prefix] += 1
    return _uids[prefix]


def _counted(graph: Any, name: str) -> int:
    counter = _uids_in_graphs.setdefault(graph, Counter())
    counter[name] += 1
    return counter[name] - 1


def unique_name(name: str) -> str:
    """`dense`, then `dense_1`, and so on; anew in each graph that is being built."""
    graph = innermost_graph()
    number = get_uid(name) - 1 if graph is None else _counted(graph, name)
    return f"{name}_{number}" if number else name


def to_snake_case(name: str) -> str:
    """`LayerNormalization` as `layer_normalization`, `_Own` as `private__own`."""
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()
    return f"private{snake}" if snake.startswith("_") else snake


def unknown(kind: str, name: str) -> str:
    """What Keras says of a name that it does not know."""
    return (
        f"Unknown {kind}: '{name}'. Please ensure you are using a "
        "`keras.utils.custom_object_scope` and that this object is included in the scope. See "
        "https://www.tensorflow.org/guide/keras/save_and_serialize#registering_the_custom_object "
        "for details."
    )


def clear_session() -> None:
    """Start again with names, and with another graph."""
    _uids.clear()
    _graphs.clear()
    ask_for_graph()


_graphs: list[FuncGraph] = []


def ask_for_graph() -> None:
    """Keras has a graph for inputs. Nothing is in it here; but it takes a number when it is made.

    Told about: `backend.get_graph`.
    """
    if not _graphs:
        _graphs.append(FuncGraph("keras_graph"))


# Random numbers

_seeds: dict[str, random.Random] = {}


def seed_weights(seed: int) -> None:
    """From now on weights are drawn with seeds that follow from this one."""
    _seeds["generator"] = random.Random(seed)  # noqa: S311


class RandomGenerator:
    """Random numbers for one initializer or layer.

    Initializers are *stateless*: they draw a seed once and give the same numbers each time. Dropout
    is stateful: its numbers follow from TensorFlow's global seed.
    NB: without `set_random_seed` the seed comes from Python's `random`, so that
    `tf.random.set_seed` alone does not make the weights of two runs equal. That is Keras'
    behaviour, not this runtime's.
    """

    def __init__(self, seed: int | None = None, *, stateless: bool = False) -> None:
        self._seed = seed
        self._stateless = stateless

    def stateless_seed(self) -> list[int]:
        """The seed of the stateless random ops."""
        if self._seed is None:
            self._seed = _seeds.get("generator", random).randint(1, int(1e9))
        return [self._seed, 0]

    def stateful_seed(self) -> int | None:
        """The op seed of the stateful random ops: another one for each op."""
        if self._seed is None:
            return None
        self._seed += 1
        return self._seed - 1

    def uniform(self, shape: Any, minval: float, maxval: float, dtype: Any) -> Any:
        """Numbers between two limits."""
        return self._draw("uniform", shape, minval, maxval, dtype)

    def normal(self, shape: Any, mean: float, stddev: float, dtype: Any) -> Any:
        """Normally distributed numbers."""
        return self._draw("normal", shape, mean, stddev, dtype)

    def truncated_normal(self, shape: Any, mean: float, stddev: float, dtype: Any) -> Any:
        """The same, but none beyond two standard deviations."""
        return self._draw("truncated_normal", shape, mean, stddev, dtype)

    def _draw(self, kind: str, shape: Any, first: float, second: float, dtype: Any) -> Any:
        if self._stateless:
            function = getattr(tf.random, f"stateless_{kind}")
            return function(shape, self.stateless_seed(), first, second, dtype=dtype)
        return getattr(tf.random, kind)(
            shape, first, second, dtype=dtype, seed=self.stateful_seed()
        )

    def dropout(self, inputs: Any, rate: float, noise_shape: Any = None) -> Any:
        """Inputs, a share `rate` of them set to 0 and the others scaled up."""
        return tf.nn.dropout(inputs, rate=rate, noise_shape=noise_shape, seed=self.stateful_seed())


# Training or not


class CallContext(threading.local):
    """The layers that are being called in this thread: layers inside one inherit its `training`,
    and whether this is a scratch graph, in which a layer is run to learn what it gives.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.training: Any = None
        self.layer: Any = None
        self.inferring = False

    @contextmanager
    def enter(self, layer: Any, training: Any, *, inferring: bool = False) -> Iterator[None]:
        """While that layer is called."""
        previous = self.depth, self.training, self.layer, self.inferring
        self.depth, self.training, self.layer = self.depth + 1, training, layer
        self.inferring = self.inferring or inferring
        try:
            yield
        finally:
            self.depth, self.training, self.layer, self.inferring = previous


call_context = CallContext()


def learning_phase() -> int:
    """Training (1) or not (0) where nobody said: not, unless `set_learning_phase` said so."""
    return int(_settings.get("learning_phase", 0))


def set_learning_phase(value: int) -> None:
    """Say it for all calls that don't say it themselves."""
    _settings["learning_phase"] = value


def smart_cond(predicate: Any, true_fn: Any, false_fn: Any) -> Any:
    """One of the two now if the predicate is known in Python, else `tf.cond`."""
    known = tf.get_static_value(predicate) if isinstance(predicate, tf.Tensor) else predicate
    if known is None:
        return tf.cond(predicate, true_fn, false_fn)
    return true_fn() if known else false_fn()


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean; of bools as floats."""
    if x.dtype == tf.bool:
        x = tf.cast(x, floatx())
    return tf.reduce_mean(x, axis, keepdims)


def constant_to_tensor(value: Any, dtype: Any) -> Any:
    """A constant; in graphs a node of its own."""
    return tf.constant(value, dtype=dtype)


def batch_set_value(pairs: list[tuple[Any, Any]]) -> None:
    """Assign each variable its value."""
    import numpy as np

    for variable, value in pairs:
        variable.assign(np.asarray(value, dtype=variable.dtype.as_numpy_dtype))


def __getattr__(name: str) -> Any:
    """What is only there for users stands in another module."""
    from tflogscope.runtime.keras import backend_functions

    if name.startswith("_") or name not in vars(backend_functions):
        missing("tf.keras.backend")(name)
    return vars(backend_functions)[name]
