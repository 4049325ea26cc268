"""The graph of a function that is being traced: it captures tensors from outside.

A tensor of another graph, or an eager one, that is used in the function becomes an input of it,
without the user's doing. Told about: `FuncGraph` of `framework/func_graph.py`, `FunctionCaptures`
of `core/function/capture/capture_container.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime import context, stacks, tape
from tflogscope.runtime.context import ask_for_default_graph, current, execute
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InaccessibleTensorError
from tflogscope.runtime.graph import Graph, Node
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import EagerTensor, SymbolicTensor, Tensor, uid

__all__ = ["SMALL", "FuncGraph", "placeholder"]

SMALL = 128
"""An eager tensor of at most so many elements is captured as a `Const`, so that its value is known
while tracing.
"""


class FuncGraph(Graph):
    """A graph with inputs, outputs and captures. `outer` is the context in which it is traced."""

    building_function = True

    def __init__(self, name: str, outer: Any = None) -> None:
        ask_for_default_graph()
        super().__init__()
        self.name = name
        self.outer = current() if outer is None else outer
        self.inputs: list[SymbolicTensor] = []
        self.outputs: list[SymbolicTensor] = []
        self.control_outputs: list[Node] = []
        self.structured_outputs: Any = None
        self.structured_input_signature: Any = None
        self.variables: list[Any] = []
        self.capture_by_value = bool(getattr(self.outer, "capture_by_value", False))
        self.seed = getattr(self.outer, "seed", None)
        self._captures: dict[int, tuple[Tensor, SymbolicTensor]] = {}

    @property
    def outer_graph(self) -> Graph | None:
        """The graph that this function is called in, None if it was called eagerly."""
        return self.outer if isinstance(self.outer, Graph) else None

    @property
    def captures(self) -> list[tuple[Tensor, SymbolicTensor]]:
        """Each captured tensor with the input that stands for it here."""
        return list(self._captures.values())

    @property
    def external_captures(self) -> list[Tensor]:
        """The captured tensors: what is passed at each call."""
        return [external for external, _ in self._captures.values()]

    @property
    def internal_captures(self) -> list[SymbolicTensor]:
        """What stands for them here."""
        return [internal for _, internal in self._captures.values()]

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable variables that were read."""
        return tuple(variable for variable in self.variables if variable.trainable)

    def watch_variable(self, variable: Any) -> None:
        """Remember that the function reads this variable, and those around it with it."""
        if not any(known is variable for known in self.variables):
            self.variables.append(variable)
        if isinstance(self.outer, FuncGraph):
            self.outer.watch_variable(variable)

    def capture(self, tensor: Tensor, name: str | None = None) -> SymbolicTensor:
        """What stands for this tensor here; itself if it is of this graph.

        Raises InaccessibleTensorError for a tensor of a function that was traced inside this one.
        """
        if isinstance(tensor, SymbolicTensor):
            if tensor.op.graph is self:
                return tensor
            self._check_in_scope(tensor)
            return self.capture_symbolic(tensor, name or tensor.op.name)
        name = name or str(uid())
        if tensor.dtype.is_numeric and (tensor.shape.num_elements() or 0) <= SMALL:
            # NB: it is a Const only as long as the function is traced: Python code and shape
            # functions see its value. The finished function takes it as an argument like any other
            # capture, also in TensorFlow.
            return self._captured(tensor, lambda: self._constant(tensor, name))
        return self.capture_symbolic(tensor, name)

    def capture_symbolic(self, tensor: Tensor, name: str) -> SymbolicTensor:
        """Capture it as a placeholder. Branches of conditionals and loops have their own way."""
        return self._captured(tensor, lambda: self._placeholder(tensor, name))

    def add_capture(self, external: Tensor, internal: SymbolicTensor) -> None:
        """Let this tensor of the graph stand for that one from outside."""
        self._captures[external.uid] = (external, internal)
        self.inputs.append(internal)

    def replace_capture(self, external: Tensor, internal: SymbolicTensor) -> None:
        """From now on another tensor of the graph stands for it."""
        self._captures[external.uid] = (external, internal)

    def reset_captures(self, pairs: Sequence[tuple[Tensor, SymbolicTensor]]) -> None:
        """From now on these are its inputs, and all of them captures: what branches of conditionals
        have.
        """
        self._captures = {external.uid: (external, internal) for external, internal in pairs}
        self.inputs = [internal for _, internal in pairs]

    def pop_capture(self, external: Tensor) -> SymbolicTensor | None:
        """Forget a capture; what stood for it."""
        entry = self._captures.pop(external.uid, None)
        return None if entry is None else entry[1]

    def _captured(self, tensor: Tensor, make: Any) -> SymbolicTensor:
        if tensor.uid not in self._captures:
            self.add_capture(tensor, make())
        internal = self._captures[tensor.uid][1]
        tape.record_operation("captured_value", [internal], [tensor], lambda gradient: [gradient])
        return internal

    def _constant(self, tensor: Tensor, name: str) -> SymbolicTensor:
        assert isinstance(tensor, EagerTensor)
        with context.enter(self), self.control_dependencies(None):
            attributes = {"value": tensor.value, "dtype": tensor.dtype}
            return execute("Const", [], attributes, name)[0]  # type: ignore[return-value]

    def _placeholder(self, tensor: Tensor, name: str) -> SymbolicTensor:
        with self.control_dependencies(None):
            internal = placeholder(self, tensor.dtype, tensor.shape, name)
        internal.handle_data = tensor.handle_data
        return internal

    def _check_in_scope(self, tensor: SymbolicTensor) -> None:
        inner: Any = tensor.op.graph
        while isinstance(inner, FuncGraph):
            if inner is self:
                raise InaccessibleTensorError(stacks.out_of_scope(tensor, str(self)))
            inner = inner.outer_graph

    def __repr__(self) -> str:
        return f"FuncGraph(name={self.name}, id={id(self)})"


def placeholder(
    graph: Graph,
    dtype: DType,
    shape: TensorShape,
    name: str | None = None,
    user_name: str | None = None,
) -> SymbolicTensor:
    """A `Placeholder` node: an argument. A name that no node may have gives an unnamed one."""
    attributes: dict[str, Any] = {"dtype": dtype, "shape": shape}
    if user_name is not None:
        attributes["_user_specified_name"] = user_name
    with context.enter(graph), tape.stop_recording():
        tensor: Any = execute("Placeholder", [], attributes, name or "Placeholder")[0]
        return tensor  # type: ignore[no-any-return]


def captured_from(graph: FuncGraph, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Those of the tensors that belong to this graph."""
    return [
        tensor
        for tensor in tensors
        if isinstance(tensor, SymbolicTensor) and tensor.op.graph is graph
    ]
