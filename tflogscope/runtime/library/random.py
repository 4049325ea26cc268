"""Random tensors: `tf.random.normal`, `tf.random.uniform`, `tf.random.shuffle`, and the stateless
ones.

Told about: `python/ops/random_ops.py`, `python/ops/stateless_random_ops.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_shape
from tflogscope.runtime.context import executing_eagerly, op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import DType, as_dtype
from tflogscope.runtime.library.arithmetic import add, multiply
from tflogscope.runtime.library.joining import stack
from tflogscope.runtime.library.seeds import get_seed, set_global_seed
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor

set_seed = set_global_seed

_AUTO_SELECT = 3  # the algorithm: let the device choose; on a CPU that is Philox


def shape_tensor(shape: Any) -> Tensor:
    """A shape as a tensor."""
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    empty = isinstance(shape, (list, tuple)) and not shape
    return convert_to_tensor(shape, dtypes.int32 if empty else None, name="shape")  # type: ignore[no-any-return]


def _set_static_shape(tensor: Tensor, shape: Any) -> Tensor:
    if (
        not executing_eagerly()
        and not tensor.shape.is_fully_defined()
        and isinstance(shape, Tensor)
    ):
        tensor.set_shape(constant_shape(shape))
    return tensor


def _two_seeds(seed: int | None) -> dict[str, Any]:
    first, second = get_seed(seed)
    return {"seed": first, "seed2": second}


# -- stateful


def _scaled(op: str, scope: str, doc: str) -> Any:
    def draw(
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        seed: int | None = None,
        name: str | None = None,
    ) -> Tensor:
        with op_scope(name, scope) as name:
            dims = shape_tensor(shape)
            mean, stddev = (
                convert_to_tensor(value, dtype, name=key)
                for key, value in (("mean", mean), ("stddev", stddev))
            )
            drawn = call(op, dims, dtype=dtype, **_two_seeds(seed))
            return _set_static_shape(add(drawn * stddev, mean, name=name), shape)

    draw.__doc__ = doc
    return draw


normal = _scaled(
    "RandomStandardNormal", "random_normal", "Normal numbers with that mean and standard deviation."
)
truncated_normal = _scaled(
    "TruncatedNormal",
    "truncated_normal",
    "Normal numbers, but none farther from the mean than two deviations.",
)


def _limits(dtype: DType, minval: Any, maxval: Any) -> tuple[Any, Any]:
    return convert_to_tensor(minval, dtype, name="min"), convert_to_tensor(
        maxval, dtype, name="max"
    )


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from `minval` up to but without `maxval` (1). Raises ValueError for integers without
    `maxval`.
    """
    dtype = as_dtype(dtype)
    accepted = (
        dtypes.float16,
        dtypes.bfloat16,
        dtypes.float32,
        dtypes.float64,
        dtypes.int32,
        dtypes.int64,
    )
    if dtype not in accepted:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are {accepted}."
        )
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with op_scope(name, "random_uniform") as name:
        shape = shape_tensor(shape)
        from_zero, to_one = (
            isinstance(minval, int) and minval == 0,
            isinstance(maxval, int) and maxval == 1,
        )
        if not (from_zero and to_one) or dtype.is_integer:
            minval, maxval = _limits(dtype, minval, maxval)
        seeds = _two_seeds(seed)
        if dtype.is_integer:
            result = call("RandomUniformInt", shape, minval, maxval, **seeds, name=name)
        else:
            result = call("RandomUniform", shape, dtype=dtype, **seeds)
            if not from_zero:
                result = add(result * (maxval - minval), minval, name=name)
            elif not to_one:
                result = multiply(result, maxval)
        return _set_static_shape(result, shape)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The slices along the first dimension in random order."""
    return call("RandomShuffle", value, **_two_seeds(seed), name=name)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """For each row of logits so many indices, drawn with the probabilities they stand for."""
    with op_scope(name, "categorical"):
        logits = convert_to_tensor(logits, name="logits")
        return call(
            "Multinomial",
            logits,
            num_samples,
            output_dtype=dtype or dtypes.int64,
            **_two_seeds(seed),
        )


# -- stateless: the same numbers for the same seed


def key_and_counter(seed: Any) -> tuple[Tensor, Tensor]:
    """The place in a stream that a seed of two numbers means."""
    key, counter = results("StatelessRandomGetKeyCounter", seed)
    return key, counter


def _stateless_scaled(op: str, scope: str, doc: str) -> Any:
    def draw(
        shape: Any,
        seed: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
        alg: Any = "auto_select",
    ) -> Tensor:
        del alg
        with op_scope(name, scope) as name:
            given, shape = shape, shape_tensor(shape)
            mean, stddev = (
                convert_to_tensor(value, dtype, name=key)
                for key, value in (("mean", mean), ("stddev", stddev))
            )
            key, counter = key_and_counter(seed)
            drawn = call(op, shape, key, counter, _AUTO_SELECT, dtype=dtype)
            return _set_static_shape(add(drawn * stddev, mean, name=name), given)

    draw.__doc__ = doc
    return draw


stateless_normal = _stateless_scaled(
    "StatelessRandomNormalV2",
    "stateless_random_normal",
    "Normal numbers, always the same for a seed of two numbers.",
)
stateless_truncated_normal = _stateless_scaled(
    "StatelessTruncatedNormalV2",
    "stateless_truncated_normal",
    "The same, none farther than two deviations.",
)


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Uniform numbers, always the same for a seed of two numbers; integers without limits over all
    of their type.
    """
    del alg
    dtype = as_dtype(dtype)
    if dtype.is_integer and (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer `dtype` argument {dtype}, argument `minval` and `maxval` must be both "
            f"None or not None. Got `minval`={minval} and `maxval`={maxval}."
        )
    if not dtype.is_integer and maxval is None:
        maxval = 1
    with op_scope(name, "stateless_random_uniform") as name:
        given, shape = shape, shape_tensor(shape)
        whole = dtype.is_integer and minval is None
        if not whole:
            minval, maxval = _limits(dtype, minval, maxval)
        key, counter = key_and_counter(seed)
        if whole:
            result = call(
                "StatelessRandomUniformFullIntV2",
                shape,
                key,
                counter,
                _AUTO_SELECT,
                dtype=dtype,
                name=name,
            )
        elif dtype.is_integer:
            result = call(
                "StatelessRandomUniformIntV2",
                shape,
                key,
                counter,
                _AUTO_SELECT,
                minval,
                maxval,
                name=name,
            )
        else:
            drawn = call("StatelessRandomUniformV2", shape, key, counter, _AUTO_SELECT, dtype=dtype)
            result = add(drawn * (maxval - minval), minval, name=name)
        return _set_static_shape(result, given)


def stateless_shuffle(
    value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None
) -> Tensor:
    """The slices along the first dimension in an order that depends on the seed."""
    del alg
    with op_scope(name, "stateless_shuffle"):
        key, counter = key_and_counter(seed)
        return call("StatelessShuffle", value, key, counter, _AUTO_SELECT)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """For each row of logits so many indices, always the same for a seed."""
    with op_scope(name, "stateless_categorical"):
        logits = convert_to_tensor(logits, name="logits")
        return call("StatelessMultinomial", logits, num_samples, seed, output_dtype=dtype)


def stateless_split(seed: Any, num: int = 2, alg: Any = "auto_select") -> Tensor:
    """New seeds from one."""
    seed = convert_to_tensor(seed)
    return stateless_uniform([num, 2], seed, minval=None, maxval=None, dtype=seed.dtype, alg=alg)


def stateless_fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """A new seed from one and a number."""
    data = convert_to_tensor(data)
    first = stateless_uniform([], seed, minval=None, maxval=None, dtype=data.dtype, alg=alg)
    return stack([first, data])
