"""What is only noted when it is told, because the log says it later: what passes do; and gradient
tapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.runtime import telling
from tflogscope.runtime.emitter.voice import Voice

if TYPE_CHECKING:
    from tflogscope.runtime.function.definition import NodeDef

__all__ = ["Hearsay"]


class Hearsay(telling.Listener):
    """The part of the emitter that hears about passes and tapes."""

    _here: Callable[[], Voice]
    _flush: Callable[[Voice], None]

    def _settle(self, voice: Voice, *, keep_wrappers: bool = False) -> None:
        """Say what was kept and belongs to no function."""
        raise NotImplementedError

    def gradients_wanted(self) -> None:
        """`tape.h` says that it begins."""
        voice = self._here()
        self._settle(voice)
        voice.say("tape", "Initial stack:")

    def gradient_called(self, op: str) -> None:
        """One op of the tape."""
        self._here().say("gradient of", f"Calling gradient function for '{op}'")

    def gradients_found(self, count: int) -> None:
        """It has ended."""
        del count  # TensorFlow has handed them over when it counts
        voice = self._here()
        voice.say("gradients", "Final gradients size: 0")
        self._flush(voice)

    # -- passes --------------------------------------------------------------------------------

    def pass_done(self, name: str, optimizer: str, before: int, after: int) -> None:
        """Kept until the function is ready."""
        del name
        self._here().events.optimizers.append((optimizer, before, after))

    def node_folded(self, name: str, op: str, attributes: Mapping[str, Any]) -> None:
        """Kept until the function is ready."""
        self._here().events.folded.append((name, op, dict(attributes)))

    def nodes_fused(self, name: str, op: str, fused: str, gone: Sequence[str]) -> None:
        """Kept until the function is ready."""
        self._here().events.fused.append((name, op, fused, tuple(gone)))

    def node_rewritten(self, name: str, op: str, new: str, attributes: Mapping[str, Any]) -> None:
        """Kept until the function is ready."""
        self._here().events.rewritten.append((name, op, new, dict(attributes)))

    def nodes_merged(self, name: str, other: str, op: str) -> None:
        """Kept until the function is ready."""
        self._here().events.merged.append((name, other, op))

    def rewrite_refused(self, name: str, op: str, reason: str) -> None:
        """Kept until the function is ready."""
        del name
        self._here().events.refused.append((op, reason))

    def constants_run(self, name: str, nodes: Sequence[NodeDef]) -> None:
        """Kept until the function runs; those of tracing are said before the next thing."""
        del name
        self._here().events.runs.append(tuple(nodes))

    def constant_replaced(self, name: str, output: int, new: str) -> None:
        """Kept until the function runs."""
        del new
        self._here().events.replaced.append((name, output))
