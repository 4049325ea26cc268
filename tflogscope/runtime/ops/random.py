"""Random numbers: the counter-based generator Philox (J. K. Salmon et al., "Parallel Random
Numbers: As Easy as 1, 2, 3") and what is drawn from it. The same seeds give TensorFlow's own
numbers, as float32. See `core/lib/random/philox_random.h`, `random_distributions.h`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.ops.rules import invalid, same

_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_64 = 2**64 - 1


class Philox:
    """A generator: a counter of 128 bits and a key of 64."""

    def __init__(self, counter: int, key: int) -> None:
        self.counter, self.key = counter, key

    def reserve(self, count: int) -> Philox:
        """A generator for the next numbers; this one goes on after `count` groups of four."""
        taken = Philox(self.counter, self.key)
        self.counter = (self.counter + count) % 2**128
        return taken

    def groups(self, count: int, step: int = 1) -> Any:
        """`count` rows of four numbers, of every `step`th counter."""
        low, high = self.counter & _64, self.counter >> 64
        lower = np.arange(count, dtype=np.uint64) * np.uint64(step) + np.uint64(low)
        upper = np.full(count, high, np.uint64) + (lower < np.uint64(low)).astype(np.uint64)
        c = [lower & _LOW, lower >> _SHIFT, upper & _LOW, upper >> _SHIFT]
        k0, k1 = self.key & 0xFFFFFFFF, self.key >> 32
        for _ in range(10):
            first, second = c[0] * _MULTIPLIERS[0], c[2] * _MULTIPLIERS[1]
            c = [
                (second >> _SHIFT) ^ c[1] ^ np.uint64(k0),
                second & _LOW,
                (first >> _SHIFT) ^ c[3] ^ np.uint64(k1),
                first & _LOW,
            ]
            k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
        return np.stack(c, -1).astype(np.uint32)

    def numbers(self, count: int) -> Any:
        """The next `count` numbers of 32 bits."""
        return self.groups(-(-count // 4)).ravel()[:count]


# -- distributions


def _unit(x: Any) -> Any:
    bits = (x & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)
    return bits.view(np.float32) - np.float32(1)


def _uniform(generator: Philox, count: int) -> Any:
    return _unit(generator.numbers(count))


def _box_muller(x0: Any, x1: Any) -> tuple[Any, Any]:
    u1, angle = np.maximum(_unit(x0), np.float32(1e-7)), np.float32(2 * np.pi) * _unit(x1)
    radius = np.sqrt(np.float32(-2) * np.log(u1))
    return np.sin(angle) * radius, np.cos(angle) * radius


def _normal(generator: Philox, count: int) -> Any:
    x = generator.groups(-(-count // 4))
    parts = [*_box_muller(x[:, 0], x[:, 1]), *_box_muller(x[:, 2], x[:, 3])]
    return np.stack(parts, -1).ravel()[:count]


def _truncated_normal(generator: Philox, count: int) -> Any:
    """Each group of four draws again until it has four numbers below 2."""
    groups = -(-count // 4)
    result, filled = np.zeros((groups, 4), np.float32), np.zeros(groups, np.int64)
    for turn in range(256):
        x = Philox((generator.counter + turn) % 2**128, generator.key).groups(groups, 256)
        for candidates in (*_box_muller(x[:, 0], x[:, 1]), *_box_muller(x[:, 2], x[:, 3])):
            rows = np.flatnonzero((np.abs(candidates) < 2) & (filled < 4))
            result[rows, filled[rows]] = candidates[rows]
            filled[rows] += 1
        if np.all(filled == 4):
            break
    return result.ravel()[:count]


def _integers(generator: Philox, count: int, low: int, high: int, dtype: Any) -> Any:
    if low >= high:
        raise invalid(f"Need minval < maxval, got {low} >= {high}")
    if dtype.size == 8:
        x = generator.numbers(2 * count).astype(np.uint64)
        drawn = (x[0::2] | (x[1::2] << _SHIFT)) % np.uint64(high - low)
    else:
        drawn = (generator.numbers(count) % np.uint32(high - low)).astype(np.uint64)
    return (drawn + np.uint64(low % 2**64)).astype(dtype.as_numpy_dtype)


def _permutation(numbers: Any, count: int) -> Any:
    order = np.arange(count)
    for place in range(count - 1):
        other = place + int(numbers[place]) % (count - place)
        order[place], order[other] = order[other], order[place]
    return order


def _count(shape: Any) -> int:
    if np.any(shape < 0):
        raise invalid(f"Dimension {int(shape[shape < 0][0])} must be >= 0")
    return int(np.prod(shape, dtype=np.int64))


def _shape(i: Inference) -> TensorShape:
    return known_shape(i.inputs[0])


# -- stateful ops: each kernel has a generator of its own


class _Stateful:
    def __init__(self, draw: Callable[..., Any]) -> None:
        self._draw = draw

    def instance(self, attributes: dict[str, Any]) -> Callable[..., Any]:
        """The kernel of one use of the op."""
        seed, seed2 = attributes["seed"], attributes["seed2"]
        if not seed and not seed2:
            seed, seed2 = secrets.randbits(63), secrets.randbits(63)
        generator = Philox((seed2 & _64) << 64, seed & _64)
        return lambda *inputs: self._draw(generator, attributes, *inputs)

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        return self.instance(attributes)(*inputs)


def _filled_by(function: Callable[[Philox, int], Any]) -> _Stateful:
    def draw(generator: Philox, _: Any, shape: Any) -> Any:
        count = _count(shape)
        return function(generator.reserve(count * 256), count).reshape(tuple(shape))

    return _Stateful(draw)


def _draw_integers(generator: Philox, attributes: Any, shape: Any, low: Any, high: Any) -> Any:
    count = _count(shape)
    taken = generator.reserve(count * 256)
    return _integers(taken, count, int(low), int(high), attributes["Tout"]).reshape(tuple(shape))


def _shuffle(generator: Philox, _: Any, value: Any) -> Any:
    if value.ndim == 0 or len(value) <= 1:
        return value
    exchanges = len(value) - 1
    numbers = generator.reserve(-(-exchanges // 4)).numbers(exchanges)
    return value[_permutation(numbers, len(value))]


def _row(line: str, shape: Any, kernel: Any) -> None:
    op(line, shape, kernel, stateful=True)


for _name, _function in {
    "Uniform": _uniform, "StandardNormal": _normal, "Normal": _truncated_normal
}.items():  # fmt: skip
    _type = "TruncatedNormal" if _name == "Normal" else f"Random{_name}"
    _row(f"{_type}(shape: T; dtype, seed=0, seed2=0) -> output: dtype", _shape,
         _filled_by(_function))  # fmt: skip
_row("RandomUniformInt(shape: T, minval: Tout, maxval: Tout; seed=0, seed2=0) -> output: Tout",
     _shape, _Stateful(_draw_integers))  # fmt: skip
_row("RandomShuffle(value: T; seed=0, seed2=0) -> output: T", same, _Stateful(_shuffle))


# -- stateless ops: key and counter are inputs


def _key_counter(seed: Any) -> Any:
    first, second = (int(part) & _64 for part in seed)
    mix = Philox((second << 64) | first, (0x02461E29 << 32) | 0x3EC8F720).numbers(4)
    key, high = (int(mix[k]) | int(mix[k + 1]) << 32 for k in (0, 2))
    return np.array([key], np.uint64), np.array([0, high], np.uint64)


def _at(key: Any, counter: Any) -> Philox:
    return Philox(int(counter[0]) | int(counter[1]) << 64, int(key[0]))


def _stateless(function: Callable[[Philox, int], Any]) -> Callable[..., Any]:
    def kernel(shape: Any, key: Any, counter: Any, alg: Any) -> Any:
        del alg
        return function(_at(key, counter), _count(shape)).reshape(tuple(shape))

    return kernel


op("StatelessRandomGetKeyCounter(seed: Tseed; Tseed=int64) -> key: uint64, counter: uint64",
   lambda _: [TensorShape([1]), TensorShape([2])], _key_counter)  # fmt: skip
_INPUTS = "shape: Tshape, key: uint64, counter: uint64, alg: int32"
for _type, _function in {
    "StatelessRandomUniformV2": _uniform, "StatelessRandomNormalV2": _normal,
    "StatelessTruncatedNormalV2": _truncated_normal,
}.items():  # fmt: skip
    op(f"{_type}({_INPUTS}; dtype=float32, Tshape=int32) -> output: dtype", _shape,
       _stateless(_function))  # fmt: skip
