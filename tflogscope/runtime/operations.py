"""The registry of ops: an op is one small entry.

An entry says which outputs an op has (`infer`, TensorFlow's shape function) and how they are
computed (`kernel`, a plain function of NumPy arrays). How an op is differentiated is another
registry's matter (`gradients/registry.py`), since not every op can be. A traced function, once
registered, is an op like any other.

Told about: `REGISTER_OP` and `REGISTER_KERNEL_BUILDER` of TensorFlow's C++ core.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor

__all__ = [
    "Attributes",
    "Inference",
    "Kernel",
    "OpDef",
    "Spec",
    "bind",
    "lookup",
    "register",
    "unregister",
]

Spec = tuple[DType, TensorShape]
Attributes = Mapping[str, Any]
Kernel = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Inference:
    """What a shape function sees: the op, its inputs, its attributes."""

    op: str
    inputs: tuple[Tensor, ...]
    attributes: Attributes

    def shape(self, index: int) -> TensorShape:
        """What is known of the shape of that input."""
        return self.inputs[index].shape

    def shape_of_rank(self, index: int, rank: int) -> TensorShape:
        """The same, now of a known rank. Raises ValueError if it has another."""
        shape = self.shape(index)
        if shape.rank not in (None, rank):
            raise ValueError(f"Shape must be rank {rank} but is rank {shape.rank}")
        return shape.with_rank(rank)

    def shape_of_rank_from(self, index: int, rank: int) -> TensorShape:
        """The same, of that many dimensions or more. Raises ValueError if it has fewer."""
        shape = self.shape(index)
        if shape.rank is not None and shape.rank < rank:
            raise ValueError(f"Shape must be at least rank {rank} but is rank {shape.rank}")
        return shape

    def dtype(self, index: int) -> DType:
        """The element type of that input."""
        return self.inputs[index].dtype


@dataclass(frozen=True, slots=True)
class OpDef:
    """One op.

    `infer` gives dtype and shape of each output, and raises ValueError where TensorFlow's shape
    function does. `kernel(*arrays, **attributes)` computes them; of the attributes it gets those
    that it names (all, if it takes `**attributes`). Resources and variants reach it as Python
    objects. It returns one array, a tuple or list of them, or None for an op without outputs.
    `attributes` are names; `types` says for type attributes which input they are the dtype of (`T`:
    the first).
    """

    type: str
    infer: Callable[[Inference], Sequence[Spec]]
    kernel: Kernel
    attributes: tuple[str, ...] = ()
    stateful: bool = False
    types: Mapping[str, int] = field(default_factory=dict)
    wanted: frozenset[str] | None = frozenset()
    """The attributes that the kernel takes; None: all of them."""

    def complete(self, attributes: Attributes | None, inputs: Sequence[Tensor]) -> dict[str, Any]:
        """The attributes, with those added that follow from the inputs' dtypes."""
        full = dict(attributes) if attributes else {}
        for name, position in self.types.items():
            if name not in full and position < len(inputs):
                full[name] = inputs[position].dtype
        return full


_ops: dict[str, OpDef] = {}


def register(
    type: str,
    infer: Callable[[Inference], Sequence[Spec]],
    kernel: Kernel,
    *,
    attributes: Sequence[str] = (),
    stateful: bool = False,
    types: Mapping[str, int] | None = None,
) -> OpDef:
    """Enter an op. Raises ValueError if there is one of that name."""
    if type in _ops:
        raise ValueError(f"The op {type} is registered twice.")
    followed = {"T": 0} if types is None and "T" in attributes else dict(types or {})
    definition = OpDef(type, infer, kernel, tuple(attributes), stateful, followed, _wanted(kernel))
    _ops[type] = definition
    return definition


def unregister(type: str) -> None:
    """Forget a function that was registered as an op, when nothing refers to it any more."""
    _ops.pop(type, None)


def lookup(type: str) -> OpDef:
    """The op of that name. Raises NotInThisRuntime, naming it, where there is none."""
    try:
        return _ops[type]
    except KeyError:
        raise NotInThisRuntime(f"The op {type}") from None


def bind(definition: OpDef, attributes: Attributes) -> Kernel:
    """The kernel as a function of the inputs alone: what is done once, and not at each call."""
    instance = getattr(definition.kernel, "instance", None)
    if instance is not None:  # a kernel with a state: each use of the op has its own
        return instance(attributes)  # type: ignore[no-any-return]
    if definition.wanted is None:
        return partial(definition.kernel, **attributes)
    chosen = {name: value for name, value in attributes.items() if name in definition.wanted}
    return partial(definition.kernel, **chosen) if chosen else definition.kernel


def _wanted(kernel: Kernel) -> frozenset[str] | None:
    """The names of the attributes that this kernel takes; None for all of them."""
    try:
        parameters = inspect.signature(kernel).parameters.values()
    except (TypeError, ValueError):  # a NumPy ufunc takes none
        return frozenset()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    named = (p for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD))
    return frozenset(parameter.name for parameter in named)
