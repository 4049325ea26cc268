"""What an op call leaves behind: the same to see for an eager call and for a node of a graph.

Gradient functions get one: `op.inputs`, `op.outputs`, `op.get_attr("transpose_a")`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tflogscope.runtime.tensors import Tensor

__all__ = ["EagerRecord", "OpRecord"]


class OpRecord(Protocol):
    """One op call: eager (`EagerRecord`) or in a graph (`graph.Node`)."""

    @property
    def type(self) -> str:
        """The op's type, `AddV2`."""

    @property
    def name(self) -> str:
        """The node's name; for an eager call the type."""

    @property
    def inputs(self) -> Sequence[Tensor]:
        """The input tensors."""

    @property
    def outputs(self) -> list[Any]:
        """The output tensors."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Its attributes; dtypes are DType objects."""

    def get_attr(self, name: str) -> Any:
        """One attribute. Raises ValueError if it has none of that name."""


@dataclass(slots=True)
class EagerRecord:
    """An eager op call."""

    type: str
    inputs: Sequence[Tensor]
    attributes: Mapping[str, Any]
    outputs: list[Any]

    @property
    def name(self) -> str:
        """An eager op has no name of its own."""
        return self.type

    def get_attr(self, name: str) -> Any:
        """One attribute. Raises ValueError if it has none of that name."""
        if name not in self.attributes:
            raise ValueError(f"{self.type} has no attribute {name}")
        return self.attributes[name]
