"""The stack of gradient tapes: what was done to the tensors they watch.

A tape remembers an op when one of the op's inputs is watched, or was made from one that is. What it
remembers is read backwards by `gradients/backprop.py`.

Each thread has its own tapes. Told about: `eager/tape.h` (`GradientTape::RecordOperation`),
`pywrap_tfe_src.cc` (`TapeSetRecordOperation`), `tensorflow/python/eager/record.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tflogscope.runtime.dtypes import DType

if TYPE_CHECKING:
    from tflogscope.runtime.record import OpRecord
    from tflogscope.runtime.tensors import Tensor

__all__ = [
    "Entry",
    "Tape",
    "could_record",
    "differentiable",
    "record",
    "record_operation",
    "recording",
    "stop_recording",
]

BackwardFunction = Callable[..., Sequence[Any]]


@dataclass(slots=True, eq=False)
class Entry:
    """One op on a tape: from which tensors it made which, and how gradients go back through it."""

    type: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    backward: BackwardFunction | None = None
    """None: the gradient registry knows how."""
    record: OpRecord | None = None
    scope: str = ""
    """The name scope of the forward op: that of its gradient follows it."""


class Tape:
    """What happened to the watched tensors, in order."""

    def __init__(self, *, persistent: bool, watch_accessed_variables: bool) -> None:
        self.persistent = persistent
        self.watch_accessed_variables = watch_accessed_variables
        self.made_by: dict[int, Entry | None] = {}
        """For each tensor the entry that made it; None for a tensor that is watched."""
        self.variables: dict[int, Any] = {}
        """The variables that were accessed, by their id."""

    def watch(self, tensor: Tensor) -> None:
        """Remember what is done with this tensor."""
        self.made_by.setdefault(tensor.uid, None)

    def watches(self, tensors: Sequence[Tensor]) -> bool:
        """Could a gradient flow back into one of these?"""
        return any(tensor.uid in self.made_by and trainable(tensor.dtype) for tensor in tensors)

    def remember(self, entry: Entry) -> None:
        """Add an op."""
        for output in entry.outputs:
            self.made_by[output.uid] = entry


class _Tapes(threading.local):
    def __init__(self) -> None:
        self.stack: list[Tape] = []
        self.stopped = 0


_tapes = _Tapes()


def trainable(dtype: DType) -> bool:
    """Can a gradient flow through such tensors? Told about: `backprop_util.IsTrainable`."""
    return dtype.is_floating or dtype.is_complex or dtype.name in {"resource", "variant"}


def differentiable(tensor: Tensor) -> bool:
    """Can a gradient flow through this tensor? As `trainable`, but a list of numbers that have no
    gradient has none either.
    """
    known = tensor.handle_data if tensor.dtype.name == "variant" else None
    return trainable(tensor.dtype if known is None else known.dtype)


def push(tape: Tape) -> None:
    """Start recording on this tape too."""
    _tapes.stack.append(tape)


def pop(tape: Tape) -> None:
    """Stop recording on this tape."""
    # NB: the review of RFC 184 settled on a strict stack; TensorFlow's Python lets tapes end in any
    # order (`t1.__enter__(); t2.__enter__(); t1.__exit__(…)`), and programs use that.
    _tapes.stack.remove(tape)


def recording() -> bool:
    """Is there a tape that records?"""
    return bool(_tapes.stack) and not _tapes.stopped


@contextmanager
def stop_recording() -> Iterator[None]:
    """No tape of this thread records what happens in it."""
    _tapes.stopped += 1
    try:
        yield
    finally:
        _tapes.stopped -= 1


@contextmanager
def own_stack() -> Iterator[None]:
    """Without the tapes around: what a kernel runs begins with none, as on a thread of its own."""
    outer, stopped = _tapes.stack, _tapes.stopped
    _tapes.stack, _tapes.stopped = [], 0
    try:
        yield
    finally:
        _tapes.stack, _tapes.stopped = outer, stopped


def could_record(tensors: Sequence[Tensor]) -> int:
    """0: no tape watches one of these; 1: one does, once; 2: a higher-order gradient may be asked
    for.

    Told about: `TFE_Py_TapeSetPossibleGradientTypes`.
    """
    if not recording():
        return 0
    watching = 0
    for tape in _tapes.stack:
        if tape.watches(tensors):
            if tape.persistent or watching:
                return 2
            watching += 1
    return watching


def record(op: OpRecord) -> None:
    """Let the tapes remember an op that was executed."""
    _remember(Entry(op.type, op.inputs, op.outputs, record=op))


def record_operation(
    type: str,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    backward: BackwardFunction,
) -> None:
    """Let the tapes remember that `outputs` were made from `inputs`, with its own way back.

    `backward(*gradients of the outputs)` gives the gradients of the inputs. Told about:
    `record.record_operation`.
    """
    if recording():
        _remember(Entry(type, inputs, outputs, backward))


def _remember(entry: Entry) -> None:
    for tape in _tapes.stack:
        if tape.watches(entry.inputs):
            if not entry.scope:
                entry.scope = _scope()
            tape.remember(entry)


def _scope() -> str:
    from tflogscope.runtime.context import current_scope, executing_eagerly

    # NB: eagerly TensorFlow's fast path records ops without a scope
    return "" if executing_eagerly() else current_scope()


def variable_accessed(variable: Any) -> None:
    """A trainable variable was read: tapes that watch variables unasked watch it from now on."""
    for tape in () if _tapes.stopped else _tapes.stack:
        if tape.watch_accessed_variables:
            tape.watch(variable.handle)
            tape.variables.setdefault(id(variable), variable)
