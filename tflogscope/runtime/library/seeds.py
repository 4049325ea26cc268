"""Seeds: `tf.random.set_seed`, and how each random op gets two of them.

The first seed is the global one. The second belongs to the op: given by the caller, or else,
eagerly, the next number of a generator that `set_seed` starts anew; in a function, how many ops
asked before in that function.

Told about: `get_seed` of `python/framework/random_seed.py`, `_internal_operation_seed` of
`python/eager/context.py`.
"""

from __future__ import annotations

import random
from typing import Any
from weakref import WeakKeyDictionary

from tflogscope.runtime.context import current, executing_eagerly
from tflogscope.runtime.eager import EAGER

__all__ = ["get_seed", "global_seed", "require_seeds", "set_global_seed"]

_LARGEST = 2**31 - 1
_DEFAULT = 87654321  # the first seed, if only the op has one


class _State:
    seed: int | None = None
    deterministic = False
    generator = random.Random()  # noqa: S311 - not for secrets


_state = _State()
_asked: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def set_global_seed(seed: int | None) -> None:
    """`tf.random.set_seed`: random ops begin anew, also those whose kernels were in use."""
    _state.seed = seed
    _state.generator = random.Random(seed)  # noqa: S311
    EAGER.clear_kernels()


def global_seed() -> int | None:
    """The seed that was set, or None."""
    return _state.seed


def require_seeds() -> None:
    """`enable_op_determinism`: a random op without any seed is refused from now on."""
    _state.deterministic = True


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of a random op; both None if it may draw what it likes.

    Raises RuntimeError if there are none and determinism was asked for.
    """
    graph = None if executing_eagerly() else current()
    first = _state.seed if graph is None else getattr(graph, "seed", None)
    if graph is not None and first is None and graph.building_function:
        first = _state.seed
    if first is None and op_seed is None:
        if _state.deterministic:
            raise RuntimeError(
                "Random ops require a seed to be set when determinism is enabled. Please set a "
                "seed before running the op, e.g. by calling tf.random.set_seed(1)."
            )
        return None, None
    if first is None:
        assert op_seed is not None
        return _DEFAULT, op_seed % _LARGEST
    if op_seed is None:
        if graph is None:
            op_seed = _state.generator.randint(0, _LARGEST)
        else:
            op_seed = _asked.get(graph, 0)
            _asked[graph] = op_seed + 1
    seeds = first % _LARGEST, op_seed % _LARGEST
    return (0, _LARGEST) if seeds == (0, 0) else seeds
