"""`tf.lookup`: tables from keys to values.

Told about: `python/ops/lookup_ops.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.collections_v1 import add_to_collection, get_collection
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import DType, as_dtype
from tflogscope.runtime.graph import Graph
from tflogscope.runtime.library.grouping import group
from tflogscope.runtime.ops.call import call, call_node
from tflogscope.runtime.tensors import Tensor, uid

__all__ = ["KeyValueTensorInitializer", "StaticHashTable", "tables_initializer"]

_INITIALIZERS = "table_initializer"


class KeyValueTensorInitializer:
    """Fills a table with these keys and values."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._name = name or "key_value_init"
        key_dtype = None if key_dtype is None else as_dtype(key_dtype)
        value_dtype = None if value_dtype is None else as_dtype(value_dtype)
        with context.init_scope():
            self._keys: Tensor = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values: Tensor = convert_to_tensor(values, dtype=value_dtype, name="values")

    @property
    def key_dtype(self) -> DType:
        """That of the keys."""
        return self._keys.dtype

    @property
    def value_dtype(self) -> DType:
        """That of the values."""
        return self._values.dtype

    def initialize(self, table: StaticHashTable) -> Any:
        """Fill it: eagerly now, else by the node that it gives."""
        with context.name_scope(self._name):
            handle = table.resource_handle
            node = call_node("LookupTableImportV2", handle, self._keys, self._values)
        if node is not None:
            add_to_collection(_INITIALIZERS, node)
        return node


class StaticHashTable:
    """Values by key, the default one where a key is not there."""

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None) -> None:
        self.name = name or "hash_table"
        self.key_dtype, self.value_dtype = initializer.key_dtype, initializer.value_dtype
        self._default: Tensor = convert_to_tensor(default_value, dtype=self.value_dtype)
        with context.init_scope():
            self.resource_handle: Tensor = call(
                "HashTableV2", key_dtype=self.key_dtype, value_dtype=self.value_dtype,
                shared_name=_own_name(self.name), name=self.name,
            )  # fmt: skip
            self.initializer = initializer.initialize(self)

    @property
    def default_value(self) -> Tensor:
        """What a key that is not there gives."""
        return self._default

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The values of these keys. Raises TypeError for keys of another dtype."""
        if keys.dtype != self.key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self.key_dtype}, received: {keys.dtype}"
            )
        with context.op_scope(name, f"{self.name}_Lookup"):
            keys = convert_to_tensor(keys, dtype=self.key_dtype, name="keys")
            found: Tensor = call("LookupTableFindV2", self.resource_handle, keys, self._default)
            return found

    def __getitem__(self, keys: Any) -> Tensor:
        return self.lookup(keys)

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are."""
        with context.op_scope(name, f"{self.name}_Size"):
            found: Tensor = call("LookupTableSizeV2", self.resource_handle)
            return found


def _own_name(name: str) -> str:
    """NB: in a graph TensorFlow's node finds its table by its own name."""
    graph = context.current()
    if isinstance(graph, Graph):
        return graph.unique_name(name, mark_as_used=False)
    return f"table_{uid()}"


def tables_initializer(name: str = "init_all_tables") -> Any:
    """A node that fills all tables of the graph."""
    return group(*get_collection(_INITIALIZERS), name=name)
