"""What happens is told here, to whoever listens.

Every place where something happens that a log of TensorFlow would show calls a method of the one
listener; with nobody listening that costs one look at a global. A listener overrides the methods it
cares for.

    with telling.listen(MyListener()):
        run_the_program()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tflogscope.runtime.function.definition import NodeDef
    from tflogscope.runtime.graph import Node
    from tflogscope.runtime.tensors import EagerTensor, Tensor

__all__ = ["Listener", "listen"]


class Listener:
    """Hears everything and does nothing: override what you want to know."""

    def constant_made(self, tensor: EagerTensor, *, cast: bool) -> None:
        """A Python or NumPy value became an eager tensor (the log's `_EagerConst`).

        `cast`: of a dtype that takes a step more (the log has a `Cast` before it).
        """

    def op_dispatched(
        self,
        op: str,
        inputs: Sequence[Tensor],
        attributes: Mapping[str, Any],
        device: str,
        cached: bool,
    ) -> None:
        """An op, or a function, is about to run eagerly; `cached`: its kernel was made before."""

    def op_finished(self, op: str, outputs: Sequence[Tensor], error: BaseException | None) -> None:
        """That op has run, or failed."""

    def node_added(self, node: Node) -> None:
        """An op was called while a graph is built: nothing runs."""

    def variable_created(self, handle: Tensor, name: str) -> None:
        """A variable exists (it may not have a value yet)."""

    def function_traced(self, name: str, function: Any) -> None:
        """A Python function was run to build a graph."""

    def function_instantiated(self, name: str, function: Any) -> None:
        """A graph was made ready to run; it is done once."""

    def gradients_wanted(self) -> None:
        """A tape is about to be followed back, eagerly or while a function is traced."""

    def gradient_called(self, op: str) -> None:
        """The gradient function of an op on the tape is called."""

    def gradients_found(self, count: int) -> None:
        """The tape has been followed to its sources."""

    def pass_done(self, name: str, optimizer: str, before: int, after: int) -> None:
        """One pass over a function's graph, with how many nodes before and after it."""

    def node_folded(self, name: str, op: str, attributes: Mapping[str, Any]) -> None:
        """Grappler computed a node whose inputs are constants; it says so and no more."""

    def constants_run(self, name: str, nodes: Sequence[NodeDef]) -> None:
        """The function runtime makes a graph of these nodes and runs it to compute constants of a
        function: kernels are created, then each node is told as started and done, at step -1.
        """

    def constant_replaced(self, name: str, output: int, new: str) -> None:
        """A value computed at step -1 is there as a constant of that name."""

    def nodes_fused(self, name: str, op: str, fused: str, gone: Sequence[str]) -> None:
        """The remapper made the node of that name and op a fused one, and took these away."""

    def node_rewritten(self, name: str, op: str, new: str, attributes: Mapping[str, Any]) -> None:
        """The layout pass replaced the node's op by oneDNN's."""

    def nodes_merged(self, name: str, other: str, op: str) -> None:
        """The layout pass made one node of two."""

    def rewrite_refused(self, name: str, op: str, reason: str) -> None:
        """The layout pass knows the op but leaves this node as it is."""

    def op_rewritten(self, op: str, new: str, attributes: Mapping[str, Any]) -> None:
        """An eager op runs as another one: the eager rewrite registry."""

    def kernel_created(self, node: Any, device: str) -> None:
        """The kernel of a node of a graph, or of an eager op, was made."""

    def function_called(self, name: str, step: int, function: Any) -> None:
        """The executor starts on a graph."""

    def function_returned(self, name: str, step: int, error: BaseException | None) -> None:
        """The executor has done with that graph."""

    def function_launched(self, name: str, function: Any, *, cached: bool) -> None:
        """A function that is compiled as one unit (`jit_compile`) runs: none of its nodes is told.

        `cached`: it was compiled for these types of arguments before.
        """

    def node_started(self, step: int, node: NodeDef) -> None:
        """The executor takes a node whose inputs are there."""

    def node_done(self, step: int, node: NodeDef, outputs: Sequence[Any]) -> None:
        """Its kernel has run."""

    def node_dead(self, step: int, node: NodeDef) -> None:
        """It is in a branch not taken: no kernel runs."""

    def node_failed(self, step: int, node: NodeDef, error: BaseException) -> None:
        """Its kernel raised an error."""


listener: Listener | None = None
"""Who listens. Places that tell look here first."""


@contextmanager
def listen(to: Listener) -> Iterator[Listener]:
    """Tell everything that happens, in all threads, to this listener."""
    global listener  # noqa: PLW0603 - the one
    previous, listener = listener, to
    try:
        yield to
    finally:
        listener = previous
