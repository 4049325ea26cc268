"""A function that can be called: its definition, registered as an op.

Called eagerly, it is one op, `__inference_f_12`, dispatched like any other. Called while another
function is traced, it is one node, `PartitionedCall` (`StatefulPartitionedCall` if it holds a
stateful op). There is one registry for the process; a function that nobody can call any more is
taken out of it, and with it its graph.

Told about: `AtomicFunction` of `eager/polymorphic_function/atomic_function.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tflogscope.runtime import operations, tape
from tflogscope.runtime.context import execute, executing_eagerly
from tflogscope.runtime.eager import EAGER
from tflogscope.runtime.errors import OpError
from tflogscope.runtime.function.call_shapes import result_specs
from tflogscope.runtime.function.control_dependencies import READ_ONLY, read_only_inputs
from tflogscope.runtime.function.definition import FunctionDef, define
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.node_names import renamed
from tflogscope.runtime.operations import Inference, Spec
from tflogscope.runtime.tensors import SymbolicTensor, Tensor

__all__ = ["GraphFunction", "Instance"]


_functions: weakref.WeakValueDictionary[str, GraphFunction] = weakref.WeakValueDictionary()


class GraphFunction:
    """A registered function. It is the value of function attributes (`f`, `then_branch`, …) of
    other ops.
    """

    def __init__(
        self,
        name: str,
        graph: FuncGraph,
        inputs: Sequence[SymbolicTensor],
        outputs: Sequence[SymbolicTensor],
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.graph = graph
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.definition = renamed(
            define(name, graph, inputs, outputs, attributes or {}, graph.control_outputs)
        )
        definition = self.definition
        specs: list[Spec] = [(t.dtype, t.shape, t.handle_data) for t in outputs]  # type: ignore[misc]
        operations.register(name, lambda _: specs, _Runner(definition), stateful=True)
        weakref.finalize(self, _forget, name)
        _functions[name] = self

    @property
    def stateful(self) -> bool:
        """Does it hold a stateful op?"""
        return self.definition.stateful

    def __call__(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        """Call it: one op, or one node. Tapes don't see it; who calls tells them. Raises ValueError
        for a wrong count.
        """
        if len(arguments) != len(self.inputs):
            raise ValueError(
                f"Signature specifies {len(self.inputs)} arguments, got: {len(arguments)}."
            )
        with tape.stop_recording():
            if executing_eagerly():
                outputs = self._called_eagerly(arguments)
            else:
                outputs = execute(
                    "StatefulPartitionedCall" if self.stateful else "PartitionedCall",
                    arguments,
                    self._call_attributes(),
                )
        for output, inner in zip(outputs, self.outputs, strict=True):
            if inner.handle_data is not None and output.handle_data is None:
                output.handle_data = inner.handle_data
        return outputs

    def _called_eagerly(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        try:
            return execute(self.name, arguments)
        except OpError as error:
            from tflogscope.runtime.executor.failing import explained_by_call

            error.message = explained_by_call(error.message, self.name, self.graph, _graph_of)
            raise

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The values of the outputs for these values of the inputs; no dispatch, no tape."""
        return run(self.definition, values)

    def instantiate(self) -> None:
        """Make it ready to run; done once."""
        instantiate(self.definition)

    def _call_attributes(self) -> dict[str, Any]:
        marks = self.definition.attributes
        return {
            "Tin": tuple(tensor.dtype for tensor in self.inputs),
            "Tout": tuple(tensor.dtype for tensor in self.outputs),
            "f": self,
            "config": "",
            "config_proto": "",
            "executor_type": "",
            "_collective_manager_ids": (),
            READ_ONLY: tuple(read_only_inputs(self.graph)),
            **{name: value for name, value in marks.items() if name == "_XlaMustCompile"},
        }

    def __repr__(self) -> str:
        return f"<GraphFunction {self.name}>"


class Instance:
    """A function made ready to run for somebody alone: optimised again, and with random ops that
    begin from the start.
    """

    def __init__(self, definition: FunctionDef) -> None:
        self.definition = replace(definition, plan=None)
        instantiate(self.definition)

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The values of the outputs for these values of the inputs."""
        return run(self.definition, values)


def run(definition: FunctionDef, values: Sequence[Any]) -> list[Any]:
    """Run it on the executor, made ready if it is its first time."""
    from tflogscope.runtime import executor

    return executor.run(definition, values)


def instantiate(definition: FunctionDef) -> None:
    """Make it ready to run: the executor's plan."""
    from tflogscope.runtime import executor

    executor.instantiate(definition)


class _Runner:
    """The function as a kernel. A fresh one, as after `tf.random.set_seed`, is made ready anew, so
    that its random ops begin from the start.
    """

    def __init__(self, definition: FunctionDef) -> None:
        self._definition = definition

    def instance(self, _: Mapping[str, Any]) -> _Runner:
        self._definition.plan = None
        return self

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        return tuple(run(self._definition, values))


def _graph_of(name: str) -> FuncGraph | None:
    function = _functions.get(name)
    return None if function is None else function.graph


def _forget(name: str) -> None:
    """Take a function out of the registry, and its kernel out of the eager cache."""
    operations.unregister(name)
    EAGER.forget(name)


def _call_infer(inference: Inference) -> list[Spec]:
    return result_specs(inference.attributes["f"], inference.inputs)


def _call_kernel(*values: Any, f: GraphFunction) -> tuple[Any, ...]:
    """A call that was not inlined. NB: TensorFlow names the function twice if it fails."""
    try:
        return tuple(f.run(values))
    except OpError as error:
        from tflogscope.runtime.executor.failing import in_function

        raise in_function(in_function(error, f.name), f.name) from None


_ATTRIBUTES = ("Tin", "Tout", "f", "config", "config_proto", "executor_type")
operations.register("PartitionedCall", _call_infer, _call_kernel, attributes=_ATTRIBUTES)
operations.register(
    "StatefulPartitionedCall", _call_infer, _call_kernel, attributes=_ATTRIBUTES, stateful=True
)
