"""TensorFlow 1's first kind of variable: its handle is a reference to the value.

Told about: `RefVariable` of `python/ops/ref_variable.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.ops.call import call, call_node
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor
from tflogscope.runtime.variables import Variable, creator_scope

__all__ = ["RefVariable", "disable_resource_variables", "enable_resource_variables"]


class RefVariable(Variable):
    """What `use_resource=False` gives: its handle is a reference to the value. It is read once, and
    the graph uses that: `NAME/read`.
    """

    def _set_handle(self, shape: TensorShape, dtype: DType, scope: str) -> None:
        # NB: TensorFlow's node finds its value by its own name, and `shared_name` stays empty
        shared = self._name
        self.handle = call("VariableV2", shape=shape, dtype=dtype, shared_name=shared, name=scope)
        self._shape, self._dtype = shape, dtype

    def _initialize(self, value: Tensor, *, validate_shape: bool) -> None:
        self._initializer = call_node(
            "Assign", self.handle, value, name="Assign", validate_shape=validate_shape
        )
        self._snapshot = call("Identity", self.handle, name="read")
        self.graph_element = self.handle
        self._collect()

    def value(self) -> Tensor:
        """The value, as `NAME/read` gives it."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """The value, read once more."""
        return call("Identity", self.handle, name="read")

    def assign(
        self, value: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Give it this value; gives a reference to it."""
        return self._change("Assign", value, use_locking, name, read_value=read_value)

    def assign_add(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add this to its value."""
        return self._change("AssignAdd", delta, use_locking, name, read_value=read_value)

    def assign_sub(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Take this from its value."""
        return self._change("AssignSub", delta, use_locking, name, read_value=read_value)

    def _change(
        self, op: str, value: Any, use_locking: Any, name: str | None, *, read_value: bool
    ) -> Any:
        reference = call(op, self.handle, value, use_locking=bool(use_locking), name=name)
        return reference if read_value else reference.op  # type: ignore[attr-defined]


def disable_resource_variables() -> None:
    """From now on variables are references, unless `use_resource` says otherwise."""
    _for_good.enter_context(creator_scope(_by_reference))


_for_good = ExitStack()


def enable_resource_variables() -> None:
    """From now on variables are resources, as they are from the start."""
    _for_good.close()


def _by_reference(next_creator: Callable[..., Any], **arguments: Any) -> Any:
    resource = arguments.pop("use_resource", None)
    return next_creator(**arguments) if resource else RefVariable(**arguments)
