"""Seeds and random numbers. See `random_ops.py`, `stateless_random_ops.py`, `random_seed.py`."""

from __future__ import annotations

import random as python_random
from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import executing_eagerly, innermost_graph, op_scope
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype, float32, int32
from tflogscope.runtime.core.eager import EAGER
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.library.numbers import add

_ALGORITHM = 3  # let the device choose; on a CPU that is Philox
_DEFAULT = 87654321


class _Seeds:
    given: int | None = None
    numbers = python_random.Random(0)  # noqa: S311 - a model, no secret


def set_seed(seed: int) -> None:
    """`tf.random.set_seed`: from here on the same numbers as always for that seed."""
    _Seeds.given, _Seeds.numbers = seed, python_random.Random(seed)  # noqa: S311
    EAGER.clear_kernels()


def get_seed(seed: int | None) -> tuple[int, int]:
    graph = None if executing_eagerly() else innermost_graph()
    given = _Seeds.given if graph is None or graph.seed is None else graph.seed
    if given is None:
        return (0, 0) if seed is None else (_DEFAULT, seed)
    if seed is None:
        seed = _Seeds.numbers.randint(0, 2**31 - 1) if graph is None else len(graph.nodes)
    return (given, seed) if (given, seed) != (0, 0) else (0, 2**31 - 1)


def _dims(shape: Any) -> Any:
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    empty = isinstance(shape, (list, tuple)) and not shape
    return convert_to_tensor(shape, int32 if empty else None, name="shape")


def _shaped(tensor: Any, shape: Any) -> Any:
    if not executing_eagerly() and isinstance(shape, Tensor):
        tensor.set_shape(known_shape(shape))
    return tensor


def _normal(type: str, label: str) -> Callable[..., Any]:
    stateless = type.startswith("Stateless")

    def draw(
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = float32,
        seed: Any = None,
        name: str | None = None,
    ) -> Any:
        with op_scope(name, label) as scope:
            dims = _dims(shape)
            mean = convert_to_tensor(mean, dtype, name="mean")
            stddev = convert_to_tensor(stddev, dtype, name="stddev")
            if stateless:
                given = (*O.StatelessRandomGetKeyCounter(seed), _ALGORITHM)
                drawn = call(type, dims, *given, dtype=dtype)
            else:
                first, second = get_seed(seed)
                drawn = call(type, dims, dtype=dtype, seed=first, seed2=second)
            return _shaped(add(drawn * stddev, mean, name=scope), shape)

    def seeded(
        shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32
    ) -> Any:
        return draw(shape, mean, stddev, dtype, seed)

    return seeded if stateless else draw


normal = _normal("RandomStandardNormal", "random_normal")
truncated_normal = _normal("TruncatedNormal", "truncated_normal")
stateless_normal = _normal("StatelessRandomNormalV2", "stateless_random_normal")
stateless_truncated_normal = _normal("StatelessTruncatedNormalV2", "stateless_truncated_normal")


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    dtype = as_dtype(dtype)
    maxval = 1 if maxval is None and not dtype.is_integer else maxval
    with op_scope(name, "random_uniform") as scope:
        given, dims = shape, _dims(shape)
        plain = [isinstance(v, int) and v == w for v, w in ((minval, 0), (maxval, 1))]
        if not all(plain) or dtype.is_integer:
            minval = convert_to_tensor(minval, dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype, name="max")
        first, second = get_seed(seed)
        if dtype.is_integer:
            result = O.RandomUniformInt(dims, minval, maxval, seed=first, seed2=second, name=scope)
        else:
            result = O.RandomUniform(dims, dtype=dtype, seed=first, seed2=second)
            if not plain[0]:
                result = add(result * (maxval - minval), minval, name=scope)
            elif not plain[1]:
                result = O.Mul(result, maxval)
        return _shaped(result, given)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    first, second = get_seed(seed)
    return O.RandomShuffle(value, seed=first, seed2=second, name=name)


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    dtype = as_dtype(dtype)
    if dtype.is_integer:
        raise NotInThisRuntime("tf.random.stateless_uniform of integers")
    maxval = 1 if maxval is None else maxval
    with op_scope(name, "stateless_random_uniform") as scope:
        dims = _dims(shape)
        minval = convert_to_tensor(minval, dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype, name="max")
        given = (*O.StatelessRandomGetKeyCounter(seed), _ALGORITHM)
        drawn = O.StatelessRandomUniformV2(dims, *given, dtype=dtype)
        return _shaped(add(drawn * (maxval - minval), minval, name=scope), shape)
