"""The stack of gradient tapes: what was done to the tensors they watch.

A tape remembers an op when one of the op's inputs is watched, or was made from one that is. What it
remembers is read backwards by `function/backprop.py`. Each thread has its own tapes. See
`tensorflow/c/eager/tape.h` and `tensorflow/python/eager/record.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Entry:
    """One op on a tape: from which tensors it made which."""

    type: str
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    backward: Callable[..., Any] | None = None
    """How gradients go back through it; None: the gradient registry knows."""
    scope: str = ""
    """The name scope of the op: that of its gradient follows it."""
    skip_input_indices: tuple[int, ...] = ()
    """Inputs of which no gradient is wanted."""

    def get_attr(self, name: str) -> Any:
        return self.attributes[name]


class Tape:
    """What happened to the watched tensors, in order."""

    def __init__(self, *, persistent: bool, watch_accessed_variables: bool) -> None:
        self.persistent = persistent
        self.watch_accessed_variables = watch_accessed_variables
        self.made_by: dict[int, Entry | None] = {}
        """For each tensor the entry that made it; None for a tensor that is watched."""
        self.variables: dict[int, Any] = {}

    def watch(self, tensor: Any) -> None:
        """Remember what is done with this tensor."""
        self.made_by.setdefault(tensor.uid, None)

    def watches(self, tensors: Sequence[Any]) -> bool:
        """Could a gradient flow back into one of these?"""
        made_by = self.made_by
        return any(each.uid in made_by and differentiable(each) for each in tensors)

    def note(self, entry: Entry) -> None:
        """Remember the op if one of its inputs is watched."""
        if self.watches(entry.inputs):
            for output in entry.outputs:
                self.made_by.setdefault(output.uid, entry)


class _Tapes(threading.local):
    def __init__(self) -> None:
        self.stack: list[Tape] = []
        self.stopped = 0


_tapes = _Tapes()


def trainable(dtype: Any) -> bool:
    """Can a gradient flow through such tensors? See `backprop_util.IsTrainable`."""
    return dtype.is_floating or not dtype.is_array


def differentiable(tensor: Any) -> bool:
    """Can one flow through this tensor? Through a list of integers none can."""
    listed = tensor.dtype.name == "variant" and tensor.handle_data is not None
    return trainable(tensor.handle_data.dtype if listed else tensor.dtype)


def push(tape: Tape) -> None:
    _tapes.stack.append(tape)


def pop(tape: Tape) -> None:
    if tape in _tapes.stack:
        _tapes.stack.remove(tape)


def recording() -> bool:
    return bool(_tapes.stack) and not _tapes.stopped


@contextmanager
def stop_recording() -> Iterator[None]:
    """No tape of this thread records what happens in it."""
    _tapes.stopped += 1
    try:
        yield
    finally:
        _tapes.stopped -= 1


def could_record(tensors: Sequence[Any]) -> int:
    """0: no tape watches one of these; 1: one does, once; 2: a higher-order gradient may be asked
    for. See `TFE_Py_TapeSetPossibleGradientTypes`.
    """
    watching = 0
    for tape in _tapes.stack if recording() else ():
        if tape.watches(tensors):
            if tape.persistent or watching:
                return 2
            watching += 1
    return watching


def record(entry: Entry) -> None:
    """Let the tapes that watch one of its inputs remember the op."""
    for tape in _tapes.stack if recording() else ():
        tape.note(entry)


def variable_accessed(variable: Any) -> None:
    """A trainable variable was read: tapes that watch variables unasked watch it from now on."""
    for tape in _tapes.stack if recording() else ():
        if tape.watch_accessed_variables:
            tape.watch(variable.handle)
            tape.variables.setdefault(id(variable), variable)
