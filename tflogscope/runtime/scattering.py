"""Methods of variables that change only some rows or elements.

Told about: `scatter_*` of `python/ops/resource_variable_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.ops.call import call_node

__all__ = ["Scattering"]


def _rows(op: str, doc: str) -> Callable[..., Any]:
    def scatter(
        self: Scattering, sparse_delta: Any, use_locking: Any = None, name: str | None = None
    ) -> Any:
        del use_locking
        if not hasattr(sparse_delta, "indices"):
            raise TypeError(
                "Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: "
                f"{sparse_delta}"
            )
        return self._scattered(op, sparse_delta.indices, sparse_delta.values, name)

    scatter.__doc__ = doc
    return scatter


def _elements(op: str, doc: str) -> Callable[..., Any]:
    def scatter_nd(self: Scattering, indices: Any, updates: Any, name: str | None = None) -> Any:
        return self._scattered(op, indices, updates, name)

    scatter_nd.__doc__ = doc
    return scatter_nd


class Scattering:
    """`scatter_*` take the rows as a `tf.IndexedSlices`, `scatter_nd_*` coordinates and values."""

    handle: Any
    _dtype: DType
    _after: Callable[..., Any]

    scatter_add = _rows("ResourceScatterAdd", "Add to some rows.")
    scatter_max = _rows("ResourceScatterMax", "Take the larger in some rows.")
    scatter_min = _rows("ResourceScatterMin", "Take the smaller in some rows.")
    scatter_mul = _rows("ResourceScatterMul", "Multiply some rows.")
    scatter_sub = _rows("ResourceScatterSub", "Take from some rows.")
    scatter_update = _rows("ResourceScatterUpdate", "Set some rows.")
    scatter_nd_add = _elements("ResourceScatterNdAdd", "Add to some elements.")
    scatter_nd_sub = _elements("ResourceScatterNdSub", "Take from some elements.")
    scatter_nd_update = _elements("ResourceScatterNdUpdate", "Set some elements.")

    def _scattered(self, op: str, indices: Any, updates: Any, name: str | None) -> Any:
        values = convert_to_tensor(updates, self._dtype)
        return self._after(call_node(op, self.handle, indices, values, name=name))
