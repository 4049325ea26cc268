"""A function that was traced: `ConcreteFunction`. Called eagerly it is an op of its own; in another
function it is a node. How it is differentiated: a backward function is traced from its graph, and a
forward function gives, beside the results, what the backward one needs. See `concrete_function.py`
(`_DelayedRewriteGradientFunctions`, `_TapeGradientFunctions`) and `atomic_function.py` of
`tensorflow/python/eager/polymorphic_function/`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from tflogscope.runtime import executor
from tflogscope.runtime.core import context, tape
from tflogscope.runtime.core.dtypes import variant
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.graph import FunctionDef, define
from tflogscope.runtime.core.registry import Argument, OpDef
from tflogscope.runtime.core.shapes import UNKNOWN
from tflogscope.runtime.core.tensors import SymbolicTensor, uid
from tflogscope.runtime.function.backprop import (
    gradients_of,
    shape_and_dtype,
)
from tflogscope.runtime.function.func_graph import (
    READ_ONLY,
    FuncGraph,
    cast,
    extend_outputs,
    packed,
    placeholder,
    read_only_inputs,
    tensors_of,
)
from tflogscope.runtime.function.variables import Variable, accessed
from tflogscope.runtime.library.slices import dense


class GraphFunction:
    """A graph as a function of tensors, by a name."""

    def __init__(self, name: str, graph: FuncGraph, attributes: Mapping[str, Any]) -> None:
        self.name, self.graph = name, graph
        self.inputs, self.outputs = list(graph.inputs), list(graph.outputs)
        made_of = graph.nodes, self.inputs, self.outputs, graph.control_outputs
        self.definition = _renamed(define(name, *made_of, dict(attributes)))
        self.definition.attributes["_graph"] = graph
        results = tuple(Argument("", tensor.dtype.name) for tensor in self.outputs)
        self._op = OpDef(name, (), results, {}, lambda _: UNKNOWN, self._run, True)

    def _run(self, *values: Any) -> tuple[Any, ...]:
        return tuple(executor.run(self.definition, values))

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


_Pair = tuple[Any, Any]
"""The forward function, and the backward one with what it captured."""


class ConcreteFunction:
    """A traced function, and what it captured."""

    def __init__(
        self, graph: FuncGraph, attributes: Mapping[str, Any] | None = None, described: Any = None
    ) -> None:
        self.graph, self.attributes = graph, attributes or {}
        self.captured_inputs: list[Any] = graph.external_captures
        self._described = described
        name = f"__inference_{graph.name}_{uid()}"
        self.inference = GraphFunction(name, graph, self.attributes)
        self._count = len(graph.outputs)
        """How many outputs are results; gradients need others."""
        self._pairs: dict[tuple[int, bool], _Pair] = {}

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
        fixed = {name: each for name, each in known.items() if not tensors_of(each)}
        given = fixed | dict(zip(known, args, strict=False)) | kwargs
        if len(args) > len(known) or set(given) != set(known):
            raise TypeError(f"Binding inputs to tf.function `{self.graph.name}` failed.")
        return self.call_flat(tensors_of([cast(each, given[name]) for name, each in known.items()]))

    def call_flat(self, args: Sequence[Any], captured: Sequence[Any] | None = None) -> Any:
        """Run it with these tensors and variables; tapes remember it as one op."""
        for variable in (*self.graph.variables, *args):
            if isinstance(variable, Variable):
                accessed(variable)
        # a variable that is passed twice is one argument
        keyed = {e.handle.uid if isinstance(e, Variable) else -k: e for k, e in enumerate(args, 1)}
        arguments = [e.handle if isinstance(e, Variable) else e for e in keyed.values()]
        arguments += self.captured_inputs if captured is None else captured
        watching, name = tape.could_record(arguments), self.inference.name
        if watching == 2 or (watching and context.executing_eagerly()):
            # the forward function runs at once
            pair = self._higher_order if watching == 2 else self._pair(self._count)
            outputs = self._call(pair[0], arguments)
            wanted = len(pair[1].inputs) - len(pair[1].captured_inputs)
            places = [k for k, each in enumerate(outputs) if tape.differentiable(each)][:wanted]
            recorded = outputs[: places[-1] + 1 if places else 0]
            backward = partial(self._back, pair, outputs)
            tape.record(tape.Entry(name, arguments, recorded, {}, backward))
        else:
            outputs = self._call(self.inference, arguments)
            if watching and outputs:
                backward = partial(self.rewrite, outputs[0].op)
                tape.record(tape.Entry(name, arguments, outputs, {}, backward))
        results = self.graph.structured_outputs
        return None if results is None else packed(results, outputs)

    def _call(self, function: Any, arguments: Sequence[Any]) -> list[Any]:
        """Call it; a node that it becomes knows whose gradient to ask for."""
        outputs = list(function(arguments))
        if outputs and not context.executing_eagerly():
            outputs[0].op.gradient_function = self.rewrite
        return outputs

    def rewrite(self, node: Any, *gradients: Any) -> Any:
        """The gradient function of a node that calls the function: from then on the node calls the
        forward function.
        """
        pair = self._pair(len(gradients), later=True)
        node.attributes["f"] = pair[0].definition
        node.attributes["Tout"] = tuple(tensor.dtype for tensor in pair[0].outputs)
        node.attributes["output_shapes"] = tuple(tensor.shape for tensor in pair[0].outputs)
        extend_outputs(node, pair[0].outputs)
        return self._back(pair, node.outputs, *gradients)

    def _back(self, pair: _Pair, outputs: Sequence[Any], *gradients: Any) -> Any:
        """The backward function gets the gradients, and what it captured of the forward one's graph."""
        forward, backward = pair
        inner = zip(forward.outputs, outputs, strict=False)
        outer = {tensor.uid: output for tensor, output in inner}
        captured = [outer.get(tensor.uid, tensor) for tensor in backward.captured_inputs]
        pairs = zip(gradients, outputs, strict=False)
        given = [dense(gradient) for gradient, each in pairs if tape.differentiable(each)]
        return backward.call_flat(given, captured)

    @cached_property
    def _higher_order(self) -> _Pair:
        """What one gradient adds to the outputs can be differentiated, too."""
        count, pair = self._count, self._pair(self._count)
        while any(tape.differentiable(each) for each in self.graph.outputs[count:]):
            count = len(self.graph.outputs)
            pair = self._pair(count)
        return pair

    def _pair(self, count: int, *, later: bool = False) -> _Pair:
        """Those for the gradients of so many of the outputs: for a tape, or for a node `later`."""
        if (count, later) not in self._pairs:
            self._pairs[count, later] = self._build(self.graph.outputs[:count])
        return self._pairs[count, later]

    def _build(self, outputs: Sequence[SymbolicTensor]) -> _Pair:
        graph, trainable = self.graph, [each for each in outputs if tape.differentiable(each)]
        backward = FuncGraph(f"__backward_{graph.name}_{uid()}", outer=graph)
        with context.enter(backward):
            given = []
            for output in trainable:
                shape, dtype = shape_and_dtype(output)
                given.append(placeholder(backward, dtype, shape))
                given[-1].handle_data = output.handle_data if dtype is variant else None
            found = gradients_of(graph, trainable, list(graph.inputs), given)
            grads = [dense(each) for each in found]
        known = {output.uid for output in graph.outputs}
        for tensor in backward.external_captures:  # what it needs becomes an output
            if getattr(tensor, "graph", None) is graph and tensor.uid not in known:
                graph.outputs.append(tensor)
        backward.inputs = given + backward.internal_captures
        backward.outputs = [backward.capture(each) for each in tensors_of(grads)]
        backward.structured_outputs = grads
        forward = GraphFunction(f"__forward_{graph.name}_{uid()}", graph, self.attributes)
        return forward, ConcreteFunction(backward, self.attributes)

    def __getattr__(self, name: str) -> Any:
        return missing("ConcreteFunction", name)


def _renamed(definition: FunctionDef) -> FunctionDef:
    """The names that `graph_to_functiondef.cc` gives: those of arguments and results are in small
    letters, and no two nodes share one.
    """
    first = {"_Retval": 0, "_Arg": 1}
    new: dict[str, str] = {}
    taken: set[str] = set()
    for node in sorted(definition.nodes, key=lambda node: first.get(node.type, 2)):
        name = node.inputs[0][0] if node.type == "_Retval" else node.name
        if node.type in first:
            name = re.sub(r"[^a-z0-9]", "_", name.lower()).lstrip("_0123456789") or "unknown"
        spare = (f"{name}_{number}" for number in itertools.count())
        found = next(each for each in itertools.chain((name,), spare) if each not in taken)
        taken.add(found)
        new[node.name] = found + "_RetVal" * (node.type == "_Retval")
    for node in definition.nodes:
        node.name = new[node.name]
        node.inputs = [(new[name], output) for name, output in node.inputs]
        node.controls = [new[name] for name in node.controls if name in new]
    definition.must_run = tuple(new[name] for name in definition.must_run)
    return definition
