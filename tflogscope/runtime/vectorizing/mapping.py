"""`tf.vectorized_map`: a function of each slice, all slices at once.

Told about: `vectorized_map` of `python/ops/parallel_for/control_flow_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime import nest
from tflogscope.runtime.control_flow.map_fn import map_fn
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.library.slicing import gather
from tflogscope.runtime.tensors import TensorSpec
from tflogscope.runtime.vectorizing.conversion import NotVectorized, pfor

__all__ = ["vectorized_map"]


def vectorized_map(
    fn: Callable[[Any], Any],
    elems: Any,
    fallback_to_while_loop: bool = True,
    warn: bool = True,
) -> Any:
    """The results for all slices, stacked. Raises ValueError if nothing says how many there are.

    Where an op has no rule the slices are done one by one (NB: by `map_fn`).
    """
    del warn
    elems = nest.map_structure(convert_to_tensor, elems)
    sizes = [each.shape[0] for each in nest.flatten(elems)]
    known = [size for size in sizes if size not in (None, 1)] or [s for s in sizes if s is not None]
    if not known:
        raise ValueError("vectorized_map of slices whose number is not known")

    def one(index: Any) -> Any:
        return fn(
            nest.map_structure(
                lambda each: gather(each, index) if each.shape[0] != 1 else gather(each, 0), elems
            )
        )

    try:
        return pfor(one, known[0])
    except NotVectorized:
        if not fallback_to_while_loop:
            raise
    first = fn(nest.map_structure(lambda each: each[0], elems))
    signature = nest.map_structure(lambda each: TensorSpec(each.shape, each.dtype), first)
    return map_fn(fn, elems, fn_output_signature=signature)
