"""Seeds and random numbers. See `random_ops.py`, `stateless_random_ops.py`, `random_seed.py`."""

from __future__ import annotations

import random as python_random
from typing import Any

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import Function, executing_eagerly, innermost_graph, scoped
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype, float32, int32
from tflogscope.runtime.core.eager import EAGER
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


def _stateless(type: str, dims: Any, seed: Any, dtype: Any) -> Any:
    return call(type, dims, *O.StatelessRandomGetKeyCounter(seed), _ALGORITHM, dtype=dtype)


def _normal(type: str, label: str) -> Function:
    @scoped(label)
    def draw(
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = float32,
        seed: Any = None,
        *,
        scope: Any = None,
    ) -> Any:
        dims = _dims(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        if type.startswith("Stateless"):
            drawn = _stateless(type, dims, seed, dtype)
        else:
            first, second = get_seed(seed)
            drawn = call(type, dims, dtype=dtype, seed=first, seed2=second)
        return _shaped(add(drawn * stddev, mean, name=scope), shape)

    return draw


def _seed_second(draw: Function) -> Function:
    return lambda shape, seed, *rest, **named: draw(shape, *rest, seed=seed, **named)


normal = _normal("RandomStandardNormal", "random_normal")
truncated_normal = _normal("TruncatedNormal", "truncated_normal")
stateless_normal = _seed_second(_normal("StatelessRandomNormalV2", "stateless_random_normal"))
stateless_truncated_normal = _seed_second(
    _normal("StatelessTruncatedNormalV2", "stateless_truncated_normal")
)


@scoped("random_uniform")
def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    *,
    scope: Any = None,
) -> Any:
    dtype, dims = as_dtype(dtype), _dims(shape)
    maxval = 1 if maxval is None and not dtype.is_integer else maxval
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
    return _shaped(result, shape)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    first, second = get_seed(seed)
    return O.RandomShuffle(value, seed=first, seed2=second, name=name)


@scoped("stateless_random_uniform")
def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = 1,
    dtype: Any = float32,
    *,
    scope: Any = None,
) -> Any:
    """NB: of floats alone."""
    dims = _dims(shape)
    minval = convert_to_tensor(minval, dtype, name="min")
    maxval = convert_to_tensor(maxval, dtype, name="max")
    drawn = _stateless("StatelessRandomUniformV2", dims, seed, as_dtype(dtype))
    return _shaped(add(drawn * (maxval - minval), minval, name=scope), shape)
