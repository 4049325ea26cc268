"""`tf.random.Generator`: random numbers whose state is a variable.

Told about: `python/ops/stateful_random_ops.py`.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes, nest
from tflogscope.runtime.context import name_scope, op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import as_dtype
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays, reductions
from tflogscope.runtime.library.arithmetic import add, maximum
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.library.joining import concat, stack, unstack
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.tensors import Tensor
from tflogscope.runtime.variables import Variable

__all__ = ["Algorithm", "Generator", "create_rng_state", "global_generator", "set_global_generator"]


class Algorithm(Enum):
    """How the numbers are made."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _algorithm(given: Any) -> int:
    """Raises NotInThisRuntime for another one than Philox."""
    name = given.name if isinstance(given, Algorithm) else str(given).upper()
    if name not in ("PHILOX", "AUTO_SELECT", "1", "3"):
        raise NotInThisRuntime(f"tf.random.Generator(alg={given!r})")
    return Algorithm.PHILOX.value


def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """Two halves of a counter and a key; a number gives the counter, low bits first. What is too
    short is filled from the left.
    """
    _algorithm(alg)
    parts = [seed >> 64 * k & (2**64 - 1) for k in range(3)] if isinstance(seed, int) else seed
    state: Tensor = arrays.reshape(cast(nest.map_structure(_signed, parts), dtypes.int64), [-1])
    state = state[0:3]
    missing = maximum(3 - state.shape[0], 0)
    state = concat([arrays.zeros([missing], dtypes.int64), state], axis=0)
    state.set_shape([3])
    return state


def _signed(number: Any) -> Any:
    """An unsigned number of 64 bits as the signed one of the same bits."""
    if isinstance(number, np.ndarray) and number.dtype == np.uint64:
        return number.astype(np.int64)
    return number - 2**64 if isinstance(number, int) and number >= 2**63 else number


class Generator:
    """Each draw moves the counter on; the same in functions, since the state is a variable."""

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None) -> None:
        self.algorithm = copy_from.algorithm if copy_from is not None else _algorithm(alg)
        if isinstance(state, Variable):
            self.state = state
            return
        with name_scope("random_generator"):
            first: Any = copy_from.state if copy_from is not None else _int64(state)
            self.state = Variable(first, dtype=dtypes.int64, trainable=False, name="StateVar")

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        """With that state."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = Algorithm.PHILOX) -> Generator:
        """The same numbers for the same seed."""
        return cls(state=create_rng_state(seed, alg or Algorithm.PHILOX), alg=Algorithm.PHILOX)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Other numbers each time."""
        del alg
        return cls.from_seed(secrets.randbits(190))

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        """With that key, from that counter on."""
        state = concat([_int64(counter), arrays.reshape(_int64(key), [1])], 0)
        return cls(state=state, alg=alg)

    @property
    def key(self) -> Any:
        """The key, the same for all numbers."""
        return self.state[2]

    def reset(self, state: Any) -> None:
        """Go on from that state."""
        self.state.assign(_int64(state))

    def reset_from_seed(self, seed: Any) -> None:
        """Go on as if made from that seed."""
        self.state.assign(create_rng_state(seed, Algorithm.PHILOX))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Go on with that key, from that counter."""
        self.state.assign(concat([_int64(counter), arrays.reshape(_int64(key), [1])], 0))

    def skip(self, delta: Any) -> Any:
        """Leave out as many numbers; the state of before."""
        alg = cast(self.algorithm, dtypes.int32)
        return call("RngReadAndSkip", self.state.handle, alg, cast(delta, dtypes.uint64))

    def _drawn(self, op: str, shape: Tensor, *limits: Any, **attributes: Any) -> Any:
        before: Any = self.skip(reductions.reduce_prod(shape))
        counter = arrays.bitcast(before[:2], dtypes.uint64)
        key = arrays.bitcast(before[2:3], dtypes.uint64)
        return call(op, shape, key, counter, self.algorithm, *limits, **attributes)

    def normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Normally distributed numbers."""
        with op_scope(name, "stateful_normal") as name:
            return self._scaled("StatelessRandomNormalV2", shape, mean, stddev, dtype, name)

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:  # fmt: skip
        """The same, none farther than two deviations."""
        with op_scope(name, "truncated_normal") as name:
            return self._scaled("StatelessTruncatedNormalV2", shape, mean, stddev, dtype, name)

    def _scaled(
        self, op: str, shape: Any, mean: Any, stddev: Any, dtype: Any, name: str | None
    ) -> Tensor:
        shape = _shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        return add(self._drawn(op, shape, dtype=as_dtype(dtype)) * stddev, mean, name=name)

    def uniform(
        self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Numbers between two limits; integers without limits over all of their type.

        Raises ValueError for integers with one limit.
        """
        dtype = as_dtype(dtype)
        if dtype.is_integer and (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer dtype {dtype}, minval and maxval must be both `None` or both "
                f"non-`None`; got minval={minval} and maxval={maxval}"
            )
        with op_scope(name, "stateful_uniform") as name:
            shape = _shape_tensor(shape)
            if dtype.is_integer and minval is None:
                return self._full(shape, dtype, name)
            maxval = 1 if maxval is None else maxval
            low: Any = convert_to_tensor(minval, dtype, name="min")
            high: Any = convert_to_tensor(maxval, dtype, name="max")
            if dtype.is_integer:
                return self._drawn("StatelessRandomUniformIntV2", shape, low, high, name=name)  # type: ignore[no-any-return]
            drawn = self._drawn("StatelessRandomUniformV2", shape, dtype=dtype)
            return add(drawn * (high - low), low, name=name)

    def uniform_full_int(
        self, shape: Any, dtype: Any = dtypes.uint64, name: str | None = None
    ) -> Tensor:
        """Integers over all of their type."""
        with op_scope(name, "stateful_uniform_full_int") as name:
            return self._full(_shape_tensor(shape), as_dtype(dtype), name)

    def _full(self, shape: Tensor, dtype: Any, name: str | None) -> Tensor:
        op = "StatelessRandomUniformFullIntV2"
        return self._drawn(op, shape, dtype=dtype, name=name)  # type: ignore[no-any-return]

    def binomial(self, *_: Any, **__: Any) -> Tensor:
        """How often something comes true: not here."""
        raise NotInThisRuntime("tf.random.Generator.binomial")

    def make_seeds(self, count: int = 1) -> Tensor:
        """So many seeds for stateless ops, in columns."""
        keys = self.uniform_full_int([count], dtypes.int64)
        return stack([keys, arrays.zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """So many generators that have nothing to do with each other."""
        keys = self.uniform_full_int([count], dtypes.int64)
        return [
            Generator(state=[0, 0, key], alg=self.algorithm) for key in unstack(keys, num=count)
        ]


def _int64(value: Any) -> Any:
    return convert_to_tensor(value, dtypes.int64)


def _shape_tensor(shape: Any) -> Any:
    empty = isinstance(shape, Sequence) and not len(shape)
    return convert_to_tensor(shape, dtype=dtypes.int32 if empty else None, name="shape")


_global: list[Generator] = []


def global_generator() -> Generator:
    """The one that all parts of a program share, made when first asked for."""
    if not _global:
        _global.append(Generator.from_non_deterministic_state())
    return _global[0]


def set_global_generator(generator: Generator) -> None:
    """Take this one from now on."""
    _global[:] = [generator]
