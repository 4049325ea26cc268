"""A function that was traced: `ConcreteFunction`. Called eagerly it is an op of its own; in another
function it is a node. How it is differentiated: a backward function is traced from its graph, and a
forward function gives, beside the results, what the backward one needs. See `concrete_function.py`
(`_DelayedRewriteGradientFunctions`, `_TapeGradientFunctions`) and `atomic_function.py` of
`tensorflow/python/eager/polymorphic_function/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tflogscope.runtime import executor
from tflogscope.runtime.core import context, tape
from tflogscope.runtime.core.definition import FunctionDef, NodeDef, define
from tflogscope.runtime.core.dtypes import variant
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.registry import OpDef
from tflogscope.runtime.core.shapes import UNKNOWN
from tflogscope.runtime.core.tensors import SymbolicTensor, Tensor, uid
from tflogscope.runtime.function.backprop import (
    gradients_of,
    shape_and_dtype,
    zeros_for,
    zeros_like,
)
from tflogscope.runtime.function.func_graph import (
    READ_ONLY,
    FuncGraph,
    extend_outputs,
    placeholder,
    read_only_inputs,
)
from tflogscope.runtime.function.trace_types import cast, tensors_of
from tflogscope.runtime.function.tracing import packed, result_tensors
from tflogscope.runtime.function.variables import Variable, accessed
from tflogscope.runtime.library.slices import dense


class GraphFunction:
    """A graph as a function of tensors, by a name."""

    def __init__(
        self, name: str, graph: FuncGraph, attributes: Mapping[str, Any] | None = None
    ) -> None:
        self.name, self.graph = name, graph
        self.inputs, self.outputs = list(graph.inputs), list(graph.outputs)
        made_of = graph.nodes, self.inputs, self.outputs, graph.control_outputs
        self.definition = _renamed(define(name, *made_of, dict(attributes or {})))
        self.definition.attributes["_graph"] = graph
        self._op = self._as_op()

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """Its results for these tensors: run now, or a node."""
        with tape.stop_recording():
            if context.executing_eagerly():
                outputs = context.execute(self._op, arguments)
            else:
                type_ = "StatefulPartitionedCall" if self.definition.stateful else "PartitionedCall"
                attributes = {
                    "Tin": tuple(tensor.dtype for tensor in self.inputs),
                    "Tout": tuple(tensor.dtype for tensor in self.outputs),
                    "output_shapes": tuple(tensor.shape for tensor in self.outputs),
                    "f": self.definition,
                    READ_ONLY: read_only_inputs(self.graph),
                }
                outputs = context.execute(type_, arguments, attributes)
        for output, inner in zip(outputs, self.outputs, strict=True):
            if output.handle_data is None:
                output.handle_data = inner.handle_data
        return outputs

    def _as_op(self) -> OpDef:
        definition, dtypes = self.definition, [tensor.dtype for tensor in self.outputs]

        class _Op(OpDef):
            def dtypes(self, attributes: Mapping[str, Any]) -> list[Any]:
                del attributes
                return list(dtypes)

        def kernel(*values: Any) -> tuple[Any, ...]:
            return tuple(executor.run(definition, values))

        return _Op(self.name, (), (), {}, lambda _: UNKNOWN, kernel, True)


class ConcreteFunction:
    """A traced function, and what it captured."""

    def __init__(
        self, graph: FuncGraph, attributes: Mapping[str, Any] | None = None, described: Any = None
    ) -> None:
        self.graph, self.attributes = graph, dict(attributes or {})
        self.captured_inputs: list[Any] = graph.external_captures
        self._described = described
        name = f"__inference_{graph.name}_{uid()}"
        self.inference = GraphFunction(name, graph, self.attributes)
        self._gradients = Gradients(self)

    name = property(lambda self: self.inference.name.encode())
    inputs = property(lambda self: self.graph.inputs)
    outputs = property(lambda self: self.graph.outputs)
    variables = property(lambda self: tuple(self.graph.variables))
    structured_outputs = property(lambda self: self.graph.structured_outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Raises TypeError if the arguments don't fit."""
        known = self._described
        if known is None:
            return self.call_flat([*args, *(kwargs[name] for name in sorted(kwargs))])
        fixed = {name: each for name, each in known.items() if not tensors_of({name: each})}
        given = fixed | dict(zip(known, args, strict=False)) | kwargs
        if len(args) > len(known) or set(given) != set(known):
            raise TypeError(f"Binding inputs to tf.function `{self.graph.name}` failed.")
        return self.call_flat(tensors_of({name: cast(known[name], given[name]) for name in known}))

    def call_flat(self, args: Sequence[Any], captured: Sequence[Any] | None = None) -> Any:
        """Run it with these tensors and variables; tapes remember it as one op."""
        for variable in self.graph.variables:
            accessed(variable)
        arguments = [*_handles(args), *(self.captured_inputs if captured is None else captured)]
        outputs = self._gradients.call(arguments)
        results = self.graph.structured_outputs
        return None if results is None else packed(results, outputs)

    def __getattr__(self, name: str) -> Any:
        return missing("ConcreteFunction", name)


def _handles(args: Sequence[Any]) -> list[Tensor]:
    """Tensors, and the handles of variables, each once."""
    tensors: dict[int, Tensor] = {}
    for at, argument in enumerate(args):
        if isinstance(argument, Variable):
            accessed(argument)
            tensors.setdefault(-argument.handle.uid, argument.handle)
        else:
            tensors[at] = argument
    return list(tensors.values())


# -- names: a function's arguments and results are lower case, and no two nodes share one


def _normal(name: str) -> str:
    text = re.sub(r"[^a-z0-9]", "_", name.lower())
    found = re.search(r"[a-z]", text)
    return text[found.start() :] if found else "unknown"


def _renamed(definition: FunctionDef) -> FunctionDef:
    """As `FunctionDef` names things when it is written out: `graph_to_functiondef.cc`."""
    taken: dict[str, int] = {}

    def unique(name: str) -> str:
        found = name
        while found in taken:
            found = f"{name}_{taken[name]}"
            taken[name] += 1
        taken[found] = 0
        return found

    new: dict[str, str] = {}
    results = definition.of_type("_Retval")
    for node in results:
        new[node.name] = unique(_normal(node.inputs[0][0])) + "_RetVal"
    for node in definition.of_type("_Arg"):
        new[node.name] = unique(_normal(node.name))
    for node in definition.nodes:
        if node.name not in new:
            new[node.name] = unique(node.name)
    for node in definition.nodes:
        _rename(node, new)
    definition.must_run = tuple(new[name] for name in definition.must_run)
    return definition


def _rename(node: NodeDef, new: Mapping[str, str]) -> None:
    node.name = new[node.name]
    node.inputs = [(new[name], output) for name, output in node.inputs]
    node.controls = [new[name] for name in node.controls if name in new]


_Pair = tuple[Any, Any]
"""The forward function, and the backward one with what it captured."""


class Gradients:
    """The gradient functions of one traced function, made when they are asked for."""

    def __init__(self, function: ConcreteFunction) -> None:
        self._graph, self._inference = function.graph, function.inference
        self._attributes = function.attributes
        self._count = len(self._graph.outputs)
        """How many results it has; a gradient adds further outputs."""
        self._higher_order: _Pair | None = None
        self._pairs: dict[tuple[int, bool], _Pair] = {}

    def call(self, arguments: Sequence[Any]) -> list[Any]:
        """The results; a tape that watches an argument remembers the call."""
        watching = tape.could_record(arguments)
        if watching == 2 or (watching and context.executing_eagerly()):
            # the forward function runs at once
            pair = self._of_higher_order() if watching == 2 else self._pair(self._count)
            outputs = self._call_node(pair[0], arguments)
            self._record(outputs, arguments, *pair)
            return outputs
        outputs = self._call_node(self._inference, arguments)
        if watching and outputs:
            backward = partial(self.rewrite, outputs[0].op)
            tape.record(tape.Entry(self._inference.name, arguments, outputs, {}, backward))
        return outputs

    def _call_node(self, function: Any, arguments: Sequence[Any]) -> list[Any]:
        """Call it; a node that it becomes knows whose gradient to ask for."""
        graph = context.current()
        if not isinstance(graph, FuncGraph):
            return list(function(arguments))
        calls = dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), self.rewrite)
        previous, graph.gradient_functions = graph.gradient_functions, calls
        try:
            return list(function(arguments))
        finally:
            graph.gradient_functions = previous

    # -- the two functions

    def _of_higher_order(self) -> _Pair:
        """What one gradient adds to the outputs can be differentiated, too."""
        if self._higher_order is None:
            count, self._higher_order = self._count, self._pair(self._count)
            while any(tape.differentiable(each) for each in self._graph.outputs[count:]):
                count = len(self._graph.outputs)
                self._higher_order = self._pair(count)
        return self._higher_order

    def _pair(self, count: int, *, later: bool = False) -> _Pair:
        """Those for the gradients of so many of the outputs: for a tape, or for a node `later`."""
        if (count, later) not in self._pairs:
            self._pairs[count, later] = self._build(self._graph.outputs[:count])
        return self._pairs[count, later]

    def _build(self, outputs: Sequence[SymbolicTensor]) -> _Pair:
        graph, trainable = self._graph, [each for each in outputs if tape.differentiable(each)]
        backward = FuncGraph(f"__backward_{graph.name}_{uid()}", outer=graph)
        with context.enter(backward):
            given = []
            for output in trainable:
                shape, dtype = shape_and_dtype(output)
                given.append(placeholder(backward, dtype, shape))
                given[-1].handle_data = output.handle_data if dtype is variant else None
            grads = gradients_of(graph, trainable, list(graph.inputs), given)
        known = {output.uid for output in graph.outputs}
        for tensor in backward.external_captures:  # what it needs becomes an output
            inner = isinstance(tensor, SymbolicTensor) and tensor.op.graph is graph
            if inner and tensor.uid not in known:
                known.add(tensor.uid)
                graph.outputs.append(tensor)
        backward.inputs = given + backward.internal_captures
        backward.outputs = [backward.capture(each) for each in result_tensors(grads)]
        backward.structured_outputs = grads
        name = f"__forward_{graph.name}_{uid()}"
        function = ConcreteFunction(backward, {**self._attributes, "forward_function_name": name})
        attributes = {**self._attributes, "backward_function_name": function.name}
        return GraphFunction(name, graph, attributes), function

    def _record(
        self, outputs: Sequence[Any], arguments: Sequence[Any], forward: Any, backward: Any
    ) -> None:
        captured = self._captured(forward, backward, outputs)
        wanted = len(backward.inputs) - len(captured)
        places = [k for k, output in enumerate(outputs) if tape.differentiable(output)][:wanted]
        recorded = outputs[: places[-1] + 1 if places else 0]

        def call(*gradients: Any) -> Any:
            if not backward.outputs:
                return backward.structured_outputs
            given = [
                zeros_for(outputs[k]) if gradients[k] is None else gradients[k] for k in places
            ]
            return backward.call_flat([dense(each) for each in given], captured)

        tape.record(tape.Entry(self._inference.name, arguments, recorded, {}, call))

    def _captured(self, forward: Any, backward: Any, outputs: Sequence[Any]) -> list[Any]:
        """What the backward function takes of the outputs of the forward one."""
        pairs = zip(forward.outputs, outputs, strict=False)
        outer = {inner.uid: output for inner, output in pairs}
        return [outer.get(tensor.uid, tensor) for tensor in backward.captured_inputs]

    def rewrite(self, node: Any, *gradients: Any) -> Any:
        """The gradient function of a node that calls the function: from then on the node calls the
        forward function.
        """
        forward, backward = self._pair(len(gradients), later=True)
        if not backward.outputs:
            return backward.structured_outputs
        node.attributes["f"] = forward.definition
        node.attributes["Tout"] = tuple(tensor.dtype for tensor in forward.outputs)
        node.attributes["output_shapes"] = tuple(tensor.shape for tensor in forward.outputs)
        extend_outputs(node, forward.outputs)
        given = [
            zeros_like(output) if gradient is None else dense(gradient)
            for gradient, output in zip(gradients, node.outputs, strict=False)
            if tape.differentiable(output)
        ]
        return backward.call_flat(given, self._captured(forward, backward, node.outputs))
