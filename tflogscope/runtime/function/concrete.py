"""A function that was traced: `ConcreteFunction`. Called eagerly it is an op of its own; in another
function it is a node. See `tensorflow/python/eager/polymorphic_function/concrete_function.py`,
`atomic_function.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tflogscope.runtime import executor
from tflogscope.runtime.core import context, tape
from tflogscope.runtime.core.definition import FunctionDef, NodeDef, define
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.registry import OpDef
from tflogscope.runtime.core.shapes import UNKNOWN
from tflogscope.runtime.core.tensors import Tensor, uid
from tflogscope.runtime.function.forward_backward import Gradients
from tflogscope.runtime.function.func_graph import READ_ONLY, FuncGraph, read_only_inputs
from tflogscope.runtime.function.trace_types import Identity, Literal
from tflogscope.runtime.function.tracing import packed
from tflogscope.runtime.function.variables import Variable, accessed


class GraphFunction:
    """A graph as a function of tensors, by a name."""

    def __init__(
        self, name: str, graph: FuncGraph, attributes: Mapping[str, Any] | None = None
    ) -> None:
        self.name, self.graph = name, graph
        self.inputs, self.outputs = list(graph.inputs), list(graph.outputs)
        self.definition = _renamed(
            define(
                name,
                graph.nodes,
                self.inputs,
                self.outputs,
                graph.control_outputs,
                dict(attributes or {}),
            )
        )
        self.definition.attributes["_graph"] = graph
        self._op = self._as_op()

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """Its results for these tensors: run now, or a node."""
        with tape.stop_recording():
            if context.executing_eagerly():
                outputs = context.execute(self._op, arguments)
            else:
                type_ = "StatefulPartitionedCall" if self.definition.stateful else "PartitionedCall"
                outputs = context.execute(type_, arguments, self._call_attributes())
        for output, inner in zip(outputs, self.outputs, strict=True):
            if output.handle_data is None:
                output.handle_data = inner.handle_data
        return outputs

    def _call_attributes(self) -> dict[str, Any]:
        return {
            "Tin": tuple(tensor.dtype for tensor in self.inputs),
            "Tout": tuple(tensor.dtype for tensor in self.outputs),
            "output_shapes": tuple(tensor.shape for tensor in self.outputs),
            "f": self.definition,
            READ_ONLY: read_only_inputs(self.graph),
        }

    def _as_op(self) -> OpDef:
        definition, dtypes = self.definition, [tensor.dtype for tensor in self.outputs]

        class _Op(OpDef):
            def dtypes(self, attributes: Mapping[str, Any]) -> list[Any]:
                del attributes
                return list(dtypes)

        def kernel(*values: Any) -> tuple[Any, ...]:
            return tuple(executor.run(definition, values))

        return _Op(self.name, (), (), {}, lambda _: UNKNOWN, kernel, True, frozenset())


class ConcreteFunction:
    """A traced function, and what it captured."""

    def __init__(
        self,
        graph: FuncGraph,
        attributes: Mapping[str, Any] | None = None,
        type_: Any = None,
    ) -> None:
        self.graph, self.attributes = graph, dict(attributes or {})
        self.captured_inputs: list[Any] = graph.external_captures
        self._type = type_
        name = f"__inference_{graph.name}_{uid()}"
        self.inference = GraphFunction(name, graph, self.attributes)
        self._gradients = Gradients(graph, self.inference, self.attributes, _make)

    name = property(lambda self: self.inference.name.encode())
    inputs = property(lambda self: self.graph.inputs)
    outputs = property(lambda self: self.graph.outputs)
    variables = property(lambda self: tuple(self.graph.variables))
    structured_outputs = property(lambda self: self.graph.structured_outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Raises TypeError if the arguments don't fit."""
        if self._type is None:
            return self.call_flat([*args, *(kwargs[name] for name in sorted(kwargs))])
        known = dict(self._type.parameters)
        given = dict(zip(known, args, strict=False)) | kwargs
        for name, type_ in known.items():  # a Python value may be left out: it is fixed
            if name not in given and isinstance(type_, (Literal, Identity)):
                given[name] = type_.placeholder(lambda _: None)
        if len(args) > len(known) or set(given) != set(known):
            raise TypeError(f"Binding inputs to tf.function `{self.graph.name}` failed.")
        bound = {name: type_.cast(given[name]) for name, type_ in known.items()}
        return self.call_flat(self._type.tensors(bound))

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


def _make(graph: FuncGraph, attributes: Mapping[str, Any]) -> ConcreteFunction:
    return ConcreteFunction(graph, attributes)


def _handles(args: Sequence[Any]) -> list[Tensor]:
    """Tensors, and the handles of variables, each once."""
    tensors: list[Tensor] = []
    passed: set[int] = set()
    for argument in args:
        if not isinstance(argument, Variable):
            tensors.append(argument)
        elif id(argument.handle) not in passed:
            passed.add(id(argument.handle))
            accessed(argument)
            tensors.append(argument.handle)
    return tensors


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


Maker = Callable[[FuncGraph, Mapping[str, Any]], ConcreteFunction]
