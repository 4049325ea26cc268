"""Random ops. Stateful ones (RandomUniform, …) go on in the stream of their two seeds from call to
call: the generator belongs to the kernel. Stateless ones get key and counter as inputs.

Told about: `core/kernels/random_op.cc`, `stateless_random_ops_v2.cc`, `random_shuffle_op.cc`,
`multinomial_op.cc`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import constant_shape, folded_value
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import not_differentiable
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.ops.philox import (
    Philox,
    normal,
    truncated_normal,
    uniform,
    uniform_full,
    uniform_int,
)
from tflogscope.runtime.resources import Resource
from tflogscope.runtime.shapes import TensorShape

Array = NDArray[Any]


def _shape(i: Inference) -> TensorShape:
    return constant_shape(i.inputs[0])


def _count(shape: Array) -> int:
    if np.any(shape < 0):
        raise InvalidArgumentError(None, None, f"Dimension {int(shape[shape < 0][0])} must be >= 0")
    return int(np.prod(shape, dtype=np.int64))


# -- stateful: a generator per kernel


def _seeded(seed: int, seed2: int) -> Philox:
    """The generator of a new kernel; without seeds it starts anywhere."""
    if seed == 0 and seed2 == 0:
        seed, seed2 = secrets.randbits(64), secrets.randbits(64)
    return Philox.from_seeds(seed, seed2)


class Stateful:
    """A kernel that remembers: each use of the op (each node, each entry of the eager kernel cache)
    gets its own `instance`.
    """

    def __init__(self, draw: Callable[..., Any]) -> None:
        self._draw = draw

    def instance(self, attributes: dict[str, Any]) -> Callable[..., Any]:
        """The kernel for one use of the op, with a generator of its own."""
        generator = _seeded(attributes["seed"], attributes["seed2"])

        def kernel(*inputs: Array) -> Any:
            return self._draw(generator, attributes, *inputs)

        return kernel

    def __call__(self, *inputs: Array, **attributes: Any) -> Any:
        """Just once."""
        return self.instance(attributes)(*inputs)


def _filled_by(function: Callable[[Philox, int, DType], Array]) -> Stateful:
    def draw(generator: Philox, attributes: dict[str, Any], shape: Array) -> Array:
        count = _count(shape)
        return function(generator.reserve(count * 256), count, attributes["dtype"]).reshape(
            tuple(shape)
        )

    return Stateful(draw)


for _type, _function in {
    "RandomUniform": uniform,
    "RandomStandardNormal": normal,
    "TruncatedNormal": truncated_normal,
}.items():
    op(
        f"{_type}(shape: T; seed=0, seed2=0, dtype, T in index) -> output: dtype",
        shape=_shape,
        stateful=True,
    )(_filled_by(_function))


def _draw_int(
    generator: Philox, attributes: dict[str, Any], shape: Array, minval: Array, maxval: Array
) -> Array:
    low, high, count = int(minval), int(maxval), _count(shape)
    _check_range(low, high)
    drawn = uniform_int(generator.reserve(count * 256), count, low, high, attributes["Tout"])
    return drawn.reshape(tuple(shape))


def _check_range(low: int, high: int) -> None:
    if low >= high:
        raise InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")


op(
    "RandomUniformInt(shape: T, minval: Tout, maxval: Tout; seed=0, seed2=0, Tout in index, T in "
    "index) -> output: Tout",
    shape=_shape,
    stateful=True,
)(Stateful(_draw_int))


def _permutation(numbers: Array, count: int) -> Array:
    """0 … count-1 in random order: each place is exchanged with one from there to the end."""
    order = np.arange(count)
    for place in range(count - 1):
        other = place + int(numbers[place]) % (count - place)
        order[place], order[other] = order[other], order[place]
    return order


def _shuffle(generator: Philox, attributes: dict[str, Any], value: Array) -> Array:
    """`RandomShuffleOp` of `random_shuffle_op.cc`: n places need `ReserveSamples32(n - 1)`, which
    takes them from the stream four at a time.
    """
    del attributes
    if value.ndim == 0 or value.shape[0] <= 1:
        return value
    exchanges = value.shape[0] - 1
    numbers = generator.reserve(-(-exchanges // 4)).numbers(exchanges)
    return value[_permutation(numbers, value.shape[0])]


op("RandomShuffle(value: T; seed=0, seed2=0) -> output: T", stateful=True)(Stateful(_shuffle))


def _categories_shape(i: Inference) -> TensorShape:
    number = folded_value(i.inputs[1])
    rows = i.shape(0)[0] if i.shape(0).rank == 2 else None
    return TensorShape([rows, None if number is None else int(number)])


def _categories(generator: Philox, logits: Array, samples: int, dtype: DType) -> Array:
    """Per row so many indices, each with the probability that its logit gives it."""
    rows = logits.shape[0]
    numbers = generator.numbers(rows * samples * 2).reshape(rows, samples, 2)
    fraction = (
        (numbers[..., 0] & np.uint32(0xFFFFF)).astype(np.uint64) << np.uint64(32)
    ) | numbers[..., 1]
    units = (fraction | np.uint64(1023 << 52)).view(np.float64) - 1.0
    result = np.empty((rows, samples), dtype.as_numpy_dtype)
    for row in range(rows):
        values = logits[row].astype(np.float64)
        finite = np.isfinite(values)
        weights = np.where(
            finite, np.exp(values - np.max(values, initial=-np.inf, where=finite)), 0
        )
        cumulative = np.cumsum(weights)
        result[row] = np.searchsorted(cumulative, units[row] * cumulative[-1], side="right")
    return result


def _multinomial(
    generator: Philox, attributes: dict[str, Any], logits: Array, num_samples: Array
) -> Array:
    samples = int(num_samples)
    if logits.ndim != 2:
        shape = ",".join(map(str, logits.shape))
        text = f"logits should be a matrix, got shape [{shape}]"
        raise InvalidArgumentError(None, None, text)
    if samples < 0:
        text = f"num_samples should be nonnegative, got {samples}"
        raise InvalidArgumentError(None, None, text)
    numbers = 2 * (-(-samples // 4) * 4)  # two for each double
    taken = generator.reserve(logits.shape[0] * numbers * 256)
    return _categories(taken, logits, samples, attributes["output_dtype"])


op(
    "Multinomial(logits: T, num_samples: int32; seed=0, seed2=0, output_dtype=int64, T in real) "
    "-> output: output_dtype",
    shape=_categories_shape,
    stateful=True,
)(Stateful(_multinomial))


# -- stateless: key and counter are inputs


def generator_of_seed(seed: Array) -> Philox:
    """A generator for two seeds of which no part needs to be strong: they are mixed once."""
    first, second = (int(part) % 2**64 for part in seed)
    mix = Philox((second << 64) | first, (0x02461E29 << 32) | 0x3EC8F720).numbers(4)
    key = int(mix[0]) | int(mix[1]) << 32
    return Philox((int(mix[2]) | int(mix[3]) << 32) << 64, key)


@op("StatelessRandomGetKeyCounter(seed: Tseed; Tseed=int64) -> key: uint64, counter: uint64",
    shape=lambda _: [TensorShape([1]), TensorShape([2])])  # fmt: skip
def _get_key_counter(seed: Array) -> tuple[Array, Array]:
    generator = generator_of_seed(seed)
    halves = [generator.counter & (2**64 - 1), generator.counter >> 64]
    return np.array([generator.key], np.uint64), np.array(halves, np.uint64)


def generator_at(key: Array, counter: Array) -> Philox:
    """The generator at the place that these tensors tell."""
    """The place in a stream that these tensors tell."""
    return Philox(int(counter[0]) | int(counter[1]) << 64, int(key[0]))


def _stateless(function: Callable[[Philox, int, DType], Array]) -> Callable[..., Array]:
    def kernel(shape: Array, key: Array, counter: Array, alg: Array, dtype: DType) -> Array:  # noqa: ARG001
        return function(generator_at(key, counter), _count(shape), dtype).reshape(tuple(shape))

    return kernel


for _type, _default, _function in (
    ("StatelessRandomUniformV2", "float32", uniform),
    ("StatelessRandomNormalV2", "float32", normal),
    ("StatelessTruncatedNormalV2", "float32", truncated_normal),
    ("StatelessRandomUniformFullIntV2", "uint64", uniform_full),
):
    op(
        f"{_type}(shape: Tshape, key: uint64, counter: uint64, alg: int32; dtype={_default}, "
        "Tshape=int32) -> output: dtype",
        shape=_shape,
    )(_stateless(_function))


@op(
    "StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32, "
    "minval: dtype, maxval: dtype; Tshape=int32) -> output: dtype",
    shape=_shape,
)
def _stateless_int(
    shape: Array,
    key: Array,
    counter: Array,
    alg: Array,
    minval: Array,
    maxval: Array,
    dtype: DType,
) -> Array:
    del alg
    low, high = int(minval), int(maxval)
    _check_range(low, high)
    return uniform_int(generator_at(key, counter), _count(shape), low, high, dtype).reshape(
        tuple(shape)
    )


@op("StatelessShuffle(value: T, key: uint64, counter: uint64, alg: int32) -> output: T")
def _stateless_shuffle(value: Array, key: Array, counter: Array, alg: Array) -> Array:  # noqa: ARG001
    if value.ndim == 0 or value.shape[0] <= 1:
        return value
    return value[_permutation(generator_at(key, counter).numbers(value.shape[0]), value.shape[0])]


@op(
    "StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed; T in real, Tseed=int64, "
    "output_dtype=int64) -> output: output_dtype",
    shape=_categories_shape,
)
def _stateless_multinomial(
    logits: Array, num_samples: Array, seed: Array, output_dtype: DType
) -> Array:
    return _categories(generator_of_seed(seed), logits, int(num_samples), output_dtype)


@op(
    "RngReadAndSkip(resource: resource, alg: int32, delta: uint64) -> value: int64",
    shape=lambda _: TensorShape([3]),
    stateful=True,
)
def _read_and_skip(resource: Resource, alg: Array, delta: Array) -> Array:  # noqa: ARG001
    """The counter and key of a generator, which goes on 256 groups of four for each number."""
    with resource.lock:
        before: Array = resource.value
        low, high, key = (int(part) % 2**64 for part in before)
        counter = ((high << 64 | low) + int(delta) * 256) % 2**128
        parts = [counter % 2**64, counter >> 64, key]
        resource.value = np.array(parts, np.uint64).astype(np.int64)
    return before


not_differentiable(
    "RandomUniform",
    "RandomStandardNormal",
    "TruncatedNormal",
    "RandomUniformInt",
    "Multinomial",
    "StatelessRandomGetKeyCounter",
    "StatelessRandomUniformV2",
    "StatelessRandomNormalV2",
    "StatelessTruncatedNormalV2",
    "StatelessRandomUniformFullIntV2",
    "StatelessRandomUniformIntV2",
    "StatelessMultinomial",
    "RandomShuffle",
)
