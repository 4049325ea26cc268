"""Tables that are filled once and looked up then.

Told about: `core/kernels/lookup_table_op.cc`, `lookup_table_init_op.cc`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import FailedPreconditionError, InvalidArgumentError
from tflogscope.runtime.gradients import not_differentiable
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.resources import kept
from tflogscope.runtime.shapes import SCALAR

Array = NDArray[Any]


class Table:
    """What a handle leads to; `values` is None until it is filled."""

    def __init__(self, value_dtype: DType) -> None:
        self.value_dtype = value_dtype
        self.values: dict[Any, Any] | None = None

    def filled(self) -> dict[Any, Any]:
        """Its values by key. Raises FailedPreconditionError before it is filled."""
        if self.values is None:
            raise FailedPreconditionError(None, None, "Table not initialized.")
        return self.values


@op(
    "HashTableV2(; container='', shared_name='', use_node_name_sharing=False, key_dtype, "
    "value_dtype) -> table_handle: resource",
    shape=lambda _: SCALAR,
    stateful=True,
)
def _hash_table(shared_name: str, value_dtype: DType) -> Table:
    table: Table = kept(shared_name, lambda: Table(value_dtype))
    return table


@op("LookupTableImportV2(table_handle: resource, keys: Tin, values: Tout)", stateful=True)
def _import(table: Table, keys: Array, values: Array) -> tuple[()]:
    found: dict[Any, Any] = {}
    for key, value in zip(np.ravel(keys).tolist(), np.ravel(values).tolist(), strict=True):
        if found.setdefault(key, value) != value:
            shown = [text.decode() if isinstance(text, bytes) else text for text in (key, value)]
            raise InvalidArgumentError(
                None,
                None,
                "HashTable has different value for same key. Key "
                f"{shown[0]} has {found[key]} and trying to add value {shown[1]}",
            )
    table.values = found
    return ()


@op(
    "LookupTableFindV2(table_handle: resource, keys: Tin, default_value: Tout) -> values: Tout",
    shape=lambda i: i.shape(1),
    stateful=True,
)
def _find(table: Table, keys: Array, default_value: Array) -> Array:
    values, default = table.filled(), np.asarray(default_value).item()
    found = [values.get(key, default) for key in np.ravel(keys).tolist()]
    result = np.empty(len(found), table.value_dtype.as_numpy_dtype)
    result[:] = found
    return result.reshape(np.shape(keys))


@op(
    "LookupTableSizeV2(table_handle: resource) -> size: int64",
    shape=lambda _: SCALAR,
    stateful=True,
)
def _size(table: Table) -> Array:
    return np.asarray(len(table.filled()), np.int64)


not_differentiable("HashTableV2", "LookupTableFindV2", "LookupTableImportV2", "LookupTableSizeV2")
