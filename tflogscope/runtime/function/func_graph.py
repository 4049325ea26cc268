"""A Python function is run once, with symbolic tensors, to build a graph. Tensors from outside are
captured: they become arguments. Ops with side effects run in the order of the program. See
`tensorflow/python/framework/func_graph.py` (`func_graph_from_py_func`), `auto_control_deps.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tflogscope.runtime.core import context, nest, tape
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import execute
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.graph import Graph, Node
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import SymbolicTensor, Tensor, TensorSpec, uid
from tflogscope.runtime.function.variables import Variable, values_of

_SMALL = 128
READ_ONLY = "_read_only_resource_inputs"
_READS = frozenset("ReadVariableOp ResourceGather VariableShape VarIsInitializedOp".split())
_UNORDERED = frozenset(
    "Multinomial RandomShuffle RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal".split()
)
"""Random ops of old that TensorFlow leaves free, since they may be lifted out of the program."""


class FuncGraph(Graph):
    """A graph with inputs, outputs and captures."""

    building_function = True
    orders_effects = True

    def __init__(self, name: str, outer: Any = None) -> None:
        super().__init__()
        self.name = name
        self.outer = context.current() if outer is None else outer
        self.inputs: list[SymbolicTensor] = []
        self.outputs: list[SymbolicTensor] = []
        self.control_outputs: list[Node] = []
        self.structured_outputs: Any = None
        self.variables: list[Any] = []
        self.seed = getattr(self.outer, "seed", None)
        self._captures: dict[int, tuple[Tensor, SymbolicTensor]] = {}

    # -- captures

    external_captures = property(lambda self: [outer for outer, _ in self._captures.values()])
    internal_captures = property(lambda self: [inner for _, inner in self._captures.values()])

    def capture(self, tensor: Any, name: str | None = None) -> SymbolicTensor:
        """The tensor as one of this graph."""
        if isinstance(tensor, SymbolicTensor):
            if tensor.op.graph is self:
                return tensor
            return self.capture_symbolic(tensor, name or tensor.op.name)
        name = name or str(uid())
        if tensor.dtype.is_numeric and (tensor.shape.num_elements() or 0) <= _SMALL:
            # NB: it is a Const only as long as the function is traced, so that Python code and shape
            # rules see its value; the finished function takes it as an argument
            return self._captured(tensor, "Const", name, value=tensor.value)
        return self.capture_symbolic(tensor, name)

    def capture_symbolic(self, tensor: Any, name: str) -> SymbolicTensor:
        """A tensor from outside as an argument."""
        return self._captured(tensor, "Placeholder", name, shape=tensor.shape)

    def _captured(self, tensor: Any, type: str, name: str, **attributes: Any) -> SymbolicTensor:
        if tensor.uid not in self._captures:
            # a node that waits for none and that no tape sees
            with context.enter(self), self.control_dependencies(None), tape.stop_recording():
                (made,) = execute(type, [], {"dtype": tensor.dtype, **attributes}, name)
            self.add_capture(tensor, made)
        internal = self._captures[tensor.uid][1]
        internal.handle_data = internal.handle_data or tensor.handle_data
        tape.record(tape.Entry("captured_value", [tensor], [internal], {}, lambda grad: [grad]))
        return internal

    def add_capture(self, external: Any, internal: SymbolicTensor) -> None:
        self._captures[external.uid] = (external, internal)
        self.inputs.append(internal)

    def reset_captures(self, pairs: Sequence[tuple[Any, SymbolicTensor]]) -> None:
        self._captures = {external.uid: (external, internal) for external, internal in pairs}
        self.inputs = [internal for _, internal in pairs]

    def pop_capture(self, external: Any) -> SymbolicTensor | None:
        """What it is inside, if it was captured; it no longer is."""
        entry = self._captures.pop(external.uid, None)
        return None if entry is None else entry[1]

    def watch_variable(self, variable: Any) -> None:
        """The function, and those around it, use this variable."""
        if all(known is not variable for known in self.variables):
            self.variables.append(variable)
        if isinstance(self.outer, FuncGraph):
            self.outer.watch_variable(variable)


def placeholder(
    graph: Graph, dtype: Any, shape: TensorShape, name: Any = None, user_name: Any = None
) -> SymbolicTensor:
    """An argument in that graph."""
    attributes = {"dtype": dtype, "shape": shape}
    if user_name is not None:
        attributes["_user_specified_name"] = user_name
    with context.enter(graph), tape.stop_recording():
        (found,) = execute("Placeholder", [], attributes, name or "Placeholder")
    return found  # type: ignore[no-any-return]


def extend_outputs(node: Node, inner: Sequence[Any]) -> None:
    """The node's function gives more than it did; its attributes say so already."""
    outputs = list(node.outputs)  # a tape may have the list as it was
    for tensor in inner[len(outputs) :]:
        shape = node.attributes["output_shapes"][len(outputs)]
        outputs.append(SymbolicTensor(node, len(outputs), tensor.dtype, shape))
        outputs[-1].handle_data = tensor.handle_data
    node.outputs = outputs


Arguments = dict[str, Any]
"""By name: structures of tensors, variables and Python values. In what describes a call there are
specs in place of the tensors.
"""


def tensors_of(structure: Any) -> list[Any]:
    """The tensors and variables in a structure, and those that its leaves are made of."""
    leaves = nest.flatten(structure)
    parts = [e.composite()[1] if hasattr(e, "composite") else [e] for e in leaves]
    return [e for each in parts for e in each if isinstance(e, (Tensor, TensorSpec, Variable))]


def cast(described: Any, value: Any) -> Any:
    """The value as it was described. Raises TypeError if it can't be that."""

    def leaf(spec: Any, given: Any) -> Any:
        if isinstance(spec, TensorSpec):
            given = given if isinstance(given, TensorSpec) else convert_to_tensor(given, spec.dtype)
            if given.dtype is spec.dtype and given.shape.is_compatible_with(spec.shape):
                return given
        elif isinstance(spec, Variable) or hasattr(spec, "composite") or spec == given:
            return given
        raise TypeError(f"Can not cast {given!r} to {spec!r}")

    return nest.map_structure(leaf, described, value)


# -- tracing: the Python function is run once, with symbolic tensors


def make_placeholders(graph: FuncGraph, described: Arguments) -> Arguments:
    """What the Python function gets for its arguments."""

    def make(name: str, value: Any) -> Any:
        if isinstance(value, TensorSpec):
            label = value.name or name
            return placeholder(graph, value.dtype, value.shape, label, label)
        if isinstance(value, Variable):
            graph.capture(value.handle, name).op.attributes["_user_specified_name"] = name
        elif hasattr(value, "composite"):
            _, parts, made = value.composite()
            return made(*[placeholder(graph, e.dtype, e.shape, name, name) for e in parts])
        return value

    with context.enter(graph):
        parts = described.items()
        return {name: nest.map_structure(partial(make, name), value) for name, value in parts}


def trace(
    graph: FuncGraph,
    python_function: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    orders_effects: bool = True,
    op_return_value: Any = None,
) -> FuncGraph:
    """Run the function in the graph; its results become the graph's outputs. `args` may be TensorSpecs;
    `op_return_value` is the result in place of an operation.
    """
    with context.enter(graph):
        graph.orders_effects = orders_effects
        first, returned = len(graph.nodes), []

        def mark(tensor: Any) -> Any:
            if not orders_effects:
                return tensor
            returned.append(O.Identity(tensor))  # it will wait for all that must run
            returned[-1].handle_data = tensor.handle_data
            return returned[-1]

        def argument(value: Any) -> Any:
            if isinstance(value, TensorSpec):
                return placeholder(graph, value.dtype, value.shape, value.name, value.name)
            return value

        def result(value: Any) -> Any:
            if op_return_value is not None and isinstance(value, Node):
                with graph.control_dependencies([value]):
                    value = O.Identity(op_return_value)
            if hasattr(value, "composite"):
                _, parts, made = value.composite()
                return made(*map(mark, parts))
            return None if value is None else mark(convert_to_tensor(value))

        args, kwargs = nest.map_structure(argument, (tuple(args), dict(kwargs or {})))
        leaves = nest.flatten([args, kwargs])
        results = nest.map_structure(result, values_of(python_function(*args, **kwargs)))
        passed = [graph.pop_capture(e.handle) if isinstance(e, Variable) else e for e in leaves]
        inputs = [each for each in tensors_of(passed) if getattr(each, "graph", None) is graph]
        graph.inputs = inputs + graph.internal_captures
        graph.structured_outputs = results
        graph.outputs += [graph.capture(tensor) for tensor in tensors_of(results)]
        if orders_effects:
            graph.control_outputs += _order_effects(graph, graph.nodes[first:], returned)
    return graph


def packed(results: Any, tensors: Sequence[Any]) -> Any:
    """The same structure made of these tensors."""
    rest = iter(tensors)

    def leaf(value: Any) -> Any:
        if hasattr(value, "composite"):
            _, parts, made = value.composite()
            return made(*[next(rest) for _ in parts])
        return None if value is None else next(rest)

    return nest.map_structure(leaf, results)


# -- the order of side effects


def _order_effects(graph: Graph, nodes: Sequence[Node], returned: Sequence[Any]) -> list[Node]:
    """Keep what is done to a resource in the order of the program, and stateful ops, too; the results
    wait for the nodes that must run, which it gives.
    """
    must_run: list[Node] = []
    consumed = {tensor.uid for node in graph.nodes for tensor in node.inputs}
    last: dict[int | None, Node] = {}
    reads: dict[int | None, list[Node]] = {}
    for node in nodes:
        stateful = node.definition.stateful and node.type not in _UNORDERED
        read = node.type in _READS and all(t.uid not in consumed for t in node.outputs)
        if stateful and not read:
            must_run.append(node)
        effects = _resources(node) or ({None: False} if stateful else {})
        for handle, only_read in effects.items():
            if handle in last:
                node.add_control_input(last[handle])
            if only_read:
                reads.setdefault(handle, []).append(node)
            else:
                for reader in reads.pop(handle, []):
                    node.add_control_input(reader)
                last[handle] = node
    if must_run and returned:
        O.NoOp()
        for node in must_run:
            graph.nodes[-1].add_control_input(node)
        for tensor in returned:
            tensor.op.add_control_input(graph.nodes[-1])
    return must_run


def read_only_inputs(graph: Any) -> tuple[int, ...]:
    """Which of the resources that are passed are only read."""
    uses = [pair for node in graph.nodes for pair in _resources(node).items()]
    written = {handle for handle, only_read in uses if not only_read}
    pairs = enumerate(graph.inputs)
    return tuple(k for k, t in pairs if t.dtype.name == "resource" and t.uid not in written)


def _resources(node: Node) -> dict[int | None, bool]:
    """The handles that the node takes, and whether it only reads what they lead to."""
    read_only = node.attributes.get(READ_ONLY, ())
    found: dict[int | None, bool] = {}
    for index, tensor in enumerate(node.inputs):
        if tensor.dtype.name == "resource":
            only_read = node.type in _READS or index in read_only
            found[tensor.uid] = found.get(tensor.uid, True) and only_read
    return found
