"""A concrete function: one trace, for one type of arguments, that can be called.

Told about: `ConcreteFunction` of `eager/polymorphic_function/monomorphic_function.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime import composites, context, nest, tape
from tflogscope.runtime.errors import InvalidArgumentError, missing_attribute
from tflogscope.runtime.function.describing import described, structured_signature, summary
from tflogscope.runtime.function.forward_backward import DelayedRewrite, TapeFunctions
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.graph_function import GraphFunction, Instance
from tflogscope.runtime.function.signature import Bound, FunctionType, Signature
from tflogscope.runtime.function.trace_types import TensorType
from tflogscope.runtime.node_text import short_name
from tflogscope.runtime.tensors import SymbolicTensor, Tensor, uid
from tflogscope.runtime.variables import Variable, accessed

__all__ = ["ConcreteFunction"]


class ConcreteFunction:
    """A function graph and what it takes to call it, and to differentiate the call.

    `inference` is the function without any thought of gradients; forward and backward functions are
    made when a tape watches a call (forward_backward.py).
    """

    def __init__(
        self,
        graph: FuncGraph,
        attributes: Mapping[str, Any] | None = None,
        signature: Signature | None = None,
        type: FunctionType | None = None,
    ) -> None:
        self.graph = graph
        self.attributes = dict(attributes or {})
        self.captured_inputs: list[Tensor] = graph.external_captures
        self._signature = signature
        self._type = type
        name = f"__inference_{graph.name}_{uid()}"
        self.inference = GraphFunction(name, graph, graph.inputs, graph.outputs, self.attributes)
        if signature is not None and type is not None:
            graph.structured_input_signature = structured_signature(type, signature)
        self._delayed = DelayedRewrite(graph, self.inference, self.attributes)
        self._tape_functions: dict[bool, TapeFunctions] = {}

    @property
    def name(self) -> bytes:
        """The name of the inference function."""
        return self.inference.name.encode()

    @property
    def inputs(self) -> list[SymbolicTensor]:
        """The graph's tensors for the arguments, captured ones last."""
        return self.graph.inputs

    @property
    def outputs(self) -> list[SymbolicTensor]:
        """The graph's tensors that are returned."""
        return self.graph.outputs

    @property
    def structured_outputs(self) -> Any:
        """The graph's tensors in the structure in which the Python function returned them."""
        return self.graph.structured_outputs

    @property
    def output_shapes(self) -> Any:
        """Their shapes."""
        return nest.map_structure(_shape_of, self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """Their dtypes."""
        return nest.map_structure(_dtype_of, self.structured_outputs)

    @property
    def structured_input_signature(self) -> Any:
        """The types of the arguments, as `(args, kwargs)`."""
        return self.graph.structured_input_signature

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that it reads."""
        return tuple(self.graph.variables)

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Of these the trainable ones."""
        return self.graph.trainable_variables

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with the Python function's arguments. Python values may be left out; they are
        part of the trace.

        Raises TypeError for arguments that don't fit, ValueError for a wrong number of tensors.
        """
        return self.call_flat(self._flat(args, kwargs), self.captured_inputs)

    def call_flat(self, args: Sequence[Any], captured: Sequence[Tensor]) -> Any:
        """Call it with tensors and variables only. Told about: `_call_flat`."""
        if tape.recording() or hasattr(context.current(), "watch_variable"):
            for variable in self.graph.variables:
                accessed(variable)
        arguments = [*_handles(args), *captured]
        if not context.executing_eagerly():
            self._check_shapes(arguments)
        watching = tape.could_record(arguments)
        if not watching and context.executing_eagerly():
            return self._structured(self.inference(arguments))
        functions: DelayedRewrite | TapeFunctions = self._delayed
        if watching == 2 or (watching and context.executing_eagerly()):
            functions = self._functions_for_tape(higher_order=watching == 2)
        outputs = self._call(functions.forward(), arguments)
        if watching:
            functions.record(outputs, arguments)
        return self._structured(outputs)

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The values of the outputs, for the values of all inputs, captured ones too; without
        dispatch and tape.
        """
        return self.inference.run(values)

    def instantiate(self) -> None:
        """Make it ready to run; done once."""
        self.inference.instantiate()

    def add_gradient_functions_to_graph(self) -> None:
        """Make the functions now that a gradient of a call within a graph would need."""
        self._delayed.make()

    def instance(self) -> Instance:
        """An instance of its own, for who runs it apart from all others."""
        return Instance(self.inference.definition)

    def _call(self, function: GraphFunction, arguments: Sequence[Tensor]) -> list[Tensor]:
        graph = context.current()
        if not isinstance(graph, FuncGraph):
            return function(arguments)
        rewrite = {
            "PartitionedCall": self._delayed.rewrite,
            "StatefulPartitionedCall": self._delayed.rewrite,
        }
        previous, graph.gradient_functions = (
            graph.gradient_functions,
            {**graph.gradient_functions, **rewrite},
        )
        try:
            return function(arguments)
        finally:
            graph.gradient_functions = previous

    def _functions_for_tape(self, *, higher_order: bool) -> TapeFunctions:
        if higher_order not in self._tape_functions:
            self._tape_functions[higher_order] = TapeFunctions(
                self.graph, self.attributes, higher_order=higher_order
            )
        return self._tape_functions[higher_order]

    def _structured(self, outputs: Sequence[Tensor]) -> Any:
        """The results in the structure in which the Python function returned them."""
        results = self.graph.structured_outputs
        if results is None:
            return None
        rest = iter(outputs)
        return nest.map_structure(lambda leaf: _result(leaf, rest), results)

    def _check_shapes(self, arguments: Sequence[Tensor]) -> None:
        for tensor, inner in zip(arguments, self.graph.inputs, strict=False):
            if tensor.dtype.is_array and not inner.shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"Tensor {tensor} is not compatible with the shape this function was traced "
                    f"with. Expected shape {inner.shape}, but got shape {tensor.shape}.\n\nIf you "
                    "called get_concrete_function, you may need to pass a tf.TensorSpec(..., "
                    "shape=...) with a less specific shape, having None on axes which can vary."
                )

    def _flat(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The tensors among the arguments, in the order of the inputs."""
        if self._signature is None or self._type is None:
            return [*args, *(kwargs[name] for name in sorted(kwargs))]
        try:
            return self._by_structure(args, kwargs)
        except TypeError as refused:
            try:
                flat = self._by_input_names(args, kwargs)
            except (TypeError, ValueError):
                raise refused from None
            if flat is None:
                raise
            return flat

    def _by_structure(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        assert self._signature is not None
        assert self._type is not None
        known = dict(self._type.parameters)
        given = dict(zip(known, args, strict=False)) | dict(kwargs)
        shown = (
            f"({', '.join(f'{name}: {_named(type_, name)!r}' for name, type_ in known.items())})"
        )
        if len(args) > len(known):
            problem = "too many positional arguments"
            raise self._signature.refusal(problem, args, kwargs, shown)
        if missing := [name for name in known if name not in given]:
            problem = f"missing a required argument: '{missing[0]}'"
            raise self._signature.refusal(problem, args, kwargs, shown)
        if unknown := sorted(set(kwargs) - set(known)):
            problem = f"got an unexpected keyword argument '{unknown[0]}'"
            raise self._signature.refusal(problem, args, kwargs, shown)
        bound: Bound = {}
        for name, type_ in known.items():
            try:
                bound[name] = type_.cast(given[name])
            except TypeError as error:
                raise self._signature.refusal(str(error), args, kwargs, shown) from None
        return [tensor for name, type_ in known.items() for tensor in type_.tensors(bound[name])]

    def _by_input_names(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | None:
        """The arguments as a flat list of tensors, those given by keyword under the names of the
        placeholders.
        """
        captured = len(self.graph.internal_captures)
        inputs = self.graph.inputs[: len(self.graph.inputs) - captured]
        names = [
            tensor.op.attributes.get("_user_specified_name", tensor.op.name) for tensor in inputs
        ]
        if len(args) > len(names) or set(names[len(args) :]) != set(kwargs):
            return None
        flat = [*args, *(kwargs[name] for name in names[len(args) :])]
        if not all(isinstance(value, (Tensor, Variable)) for value in flat):
            return None
        for index, (value, tensor) in enumerate(zip(flat, inputs, strict=True)):
            if isinstance(value, Tensor) and value.dtype is not tensor.dtype:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"cannot compute {self.inference.name} as input #{index}(zero-based) was "
                    f"expected to be a {short_name(tensor.dtype)} tensor but is a "
                    f"{short_name(value.dtype)} tensor [Op:{self.inference.name}]",
                )
        return flat

    def __getattr__(self, name: str) -> Any:
        return missing_attribute("ConcreteFunction", name)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """What it takes, and if `verbose` in detail and what it gives."""
        if self._type is None:
            raise AttributeError("It was not made of a Python function with parameters.")
        if not verbose:
            return summary(self.graph.name, self._type, self.structured_input_signature)
        structured, results = self.structured_input_signature, self.structured_outputs
        return described(self.graph.name, self._type, structured, results)

    def __str__(self) -> str:
        if self._type is None:
            return repr(self)
        return f"ConcreteFunction {self.pretty_printed_signature()}"

    def __repr__(self) -> str:
        if self._type is None:
            return object.__repr__(self)
        signature = self.pretty_printed_signature(verbose=False)
        return f"<ConcreteFunction {signature} at 0x{id(self):X}>"


def _shape_of(output: Any) -> Any:
    return None if output is None else output.shape


def _dtype_of(output: Any) -> Any:
    return None if output is None else output.dtype


def _named(type_: Any, name: str) -> Any:
    return TensorType(type_.dtype, type_.shape, name) if isinstance(type_, TensorType) else type_


def _handles(args: Sequence[Any]) -> list[Tensor]:
    """The tensors to pass: of variables the handles, each once."""
    tensors: list[Tensor] = []
    passed: set[int] = set()
    for argument in args:
        if isinstance(argument, Variable):
            if id(argument.handle) not in passed:
                passed.add(id(argument.handle))
                accessed(argument)
                tensors.append(argument.handle)
        elif isinstance(argument, Tensor):
            tensors.append(argument)
        else:
            raise ValueError(f"All inputs must be Tensors, got {type(argument)}.")
    return tensors


def _result(leaf: Any, rest: Any) -> Any:
    if leaf is None:
        return None
    if hasattr(leaf, "flow") and hasattr(leaf, "stack"):  # a TensorArray
        return leaf.with_flow(next(rest))
    if composites.is_composite(leaf):
        parts = [next(rest) for _ in composites.components(leaf)]
        return composites.from_components(composites.type_spec(leaf), parts)
    return next(rest)
