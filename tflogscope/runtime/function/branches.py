"""`tf.cond`: each branch is traced into a function of its own; the gradient is another conditional. See `tensorflow/python/ops/cond_v2.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.core import context, nest, tape
from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import current, executing_eagerly, op_scope
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import int32, string
from tflogscope.runtime.core.errors import InvalidArgumentError
from tflogscope.runtime.core.graph import Node
from tflogscope.runtime.core.nest import flatten, is_nested
from tflogscope.runtime.core.registry import set_gradient
from tflogscope.runtime.core.tensors import EagerTensor, TensorSpec, uid
from tflogscope.runtime.function.backprop import gradients_of, zeros_like
from tflogscope.runtime.function.concrete import ConcreteFunction, GraphFunction
from tflogscope.runtime.function.func_graph import (
    READ_ONLY,
    FuncGraph,
    extend_outputs,
    packed,
    placeholder,
    read_only_inputs,
    trace,
)
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.numbers import reduce_all
from tflogscope.runtime.library.slices import dense

Function = Callable[[], Any]
_WRAPPER = "cflow_gradient_wrapper"
_LABELS = "then_branch", "else_branch"


class BranchGraph(FuncGraph):
    """The graph of a branch, or of a loop's condition or body."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}_{uid()}".replace("/", "_"))
        with context.init_scope():
            outermost_is_eager = context.executing_eagerly()
        self.scope_name = context.current_scope() if outermost_is_eager else ""
        self.lists: dict[Any, Any] = {}
        """Of a loop's body: what was added to it for its gradient, by what it is of."""


def copy_handle_data(sources: Any, targets: Any) -> None:
    """What a handle leads to is the same."""
    for source, target in zip(sources, targets, strict=False):
        target.handle_data = target.handle_data or source.handle_data


def cond(pred: Any, true_fn: Function, false_fn: Function, name: Any = None) -> Any:
    """`true_fn()` if `pred` holds, else `false_fn()`. Raises ValueError if they don't give alike."""
    if context.executing_eagerly():
        with context.name_scope(name or "cond"):
            return true_fn() if convert_to_tensor(pred) else false_fn()
    with context.name_scope(name or "cond") as scope:
        index = convert_to_tensor(pred)
        index = index if index.shape.rank == 0 else arrays.squeeze(index)
        # side effects are ordered in it if they are around it
        orders = getattr(context.current(), "orders_effects", False)
        options = {"orders_effects": orders, "op_return_value": index}
        parts = {"true": true_fn, "false": false_fn}.items()
        branches = [trace(BranchGraph(f"{scope}{label}"), f, **options) for label, f in parts]
        return _build(index, branches, [each.external_captures for each in branches], scope)


def switch_case(branch_index: Any, branch_fns: Sequence[Any], name: str = "switch_case") -> Any:
    """The branch of that number, the last one for any other.

    NB: a conditional in a conditional; TensorFlow has an op for it, `Case`.
    """
    first, *others = branch_fns
    if not others:
        return first()
    with context.name_scope(name):
        index = convert_to_tensor(branch_index, name="branch_index")
        return cond(O.Equal(index, 0), first, lambda: switch_case(index - 1, others, name))


# -- the op


def execute_functions(
    kind: str, name: Any, functions: dict[str, Any], index: list[Any], inputs: Any, **others: Any
) -> list[Any]:
    """The node of an op that calls functions, each by an attribute; its outputs."""
    graphs = list(functions.values())
    stateful = any(node.definition.stateful for graph in graphs for node in graph.nodes)
    type_ = kind if stateful else f"Stateless{kind}"
    read_only = set.intersection(*(set(read_only_inputs(graph)) for graph in graphs))
    if tape.could_record(inputs) == 2 and _WRAPPER not in getattr(context.current(), "name", ""):
        # a higher-order gradient may be wanted: a function has one

        def wrapped(tensors: Any) -> list[Any]:
            copy_handle_data(inputs, tensors)
            return execute_functions(kind, name, functions, index, tensors, **others)

        wrapper = FuncGraph(_WRAPPER)
        trace(wrapper, wrapped, [[TensorSpec.from_tensor(each) for each in inputs]])
        return list(ConcreteFunction(wrapper).call_flat(inputs))
    current = context.current()
    given = [
        current.capture(tensor, f"input_{at}") if isinstance(tensor, EagerTensor) else tensor
        for at, tensor in enumerate(inputs)
    ]
    parts = functions.items()
    attributes = {
        label: GraphFunction(graph.name, graph, {}).definition for label, graph in parts
    } | others
    attributes["_lower_using_switch_merge"] = True
    attributes[READ_ONLY] = tuple(sorted(at + len(index) for at in read_only))
    with context.name_scope(name or type_) as scope:
        outputs = context.execute(type_, [*index, *given], attributes, scope)
    for graph in graphs:
        graph.outer = current
    copy_handle_data(graphs[-1].outputs, outputs)
    return list(outputs)


def _build(index: Any, branches: Any, captures: Any, name: Any = None) -> Any:
    """The node that takes one of the branches; `captures` are the inputs of each."""
    nest.assert_same_structure(branches[0].structured_outputs, branches[-1].structured_outputs)
    inputs = _common_inputs(branches, captures)
    others = {"Tin": tuple(tensor.dtype for tensor in inputs), **_outputs_of(branches)}
    functions = dict(zip(_LABELS, branches, strict=True))
    outputs = execute_functions("If", name, functions, [index], inputs, **others)
    return packed(branches[0].structured_outputs, [arrays.identity(each) for each in outputs])


def _outputs_of(branches: Sequence[FuncGraph]) -> dict[str, Any]:
    pairs = zip(branches[0].outputs, branches[1].outputs, strict=True)
    shapes = [one.shape.most_specific_compatible_shape(other.shape) for one, other in pairs]
    dtypes = tuple(tensor.dtype for tensor in branches[0].outputs)
    return {"Tout": dtypes, "output_shapes": tuple(shapes)}


def _common_inputs(branches: Sequence[FuncGraph], captures: Sequence[Sequence[Any]]) -> list[Any]:
    """Both branches take what one of them needs."""
    common = {tensor.uid: tensor for tensors in captures for tensor in tensors}
    for branch, tensors in zip(branches, captures, strict=True):
        own = {tensor.uid: inner for tensor, inner in zip(tensors, branch.inputs, strict=True)}
        pairs = [
            (t, own[key] if key in own else placeholder(branch, t.dtype, t.shape))
            for key, t in common.items()
        ]
        branch.reset_captures(pairs)
    return list(common.values())


# -- the gradient: a conditional of the branches' gradients. NB: what they need of the forward branches
#    leaves those as it is, with a filler in the other branch; TensorFlow makes it an optional.


@set_gradient("If", "StatelessIf")
def _gradient(op: Any, *grads: Any) -> list[Any]:
    node: Node = op.outputs[0].op
    branches: list[Any] = [node.attributes[label].attributes["_graph"] for label in _LABELS]
    graphs, needed = [], []
    for branch in branches:
        copy_handle_data(node.inputs[1:], branch.inputs)
        branch.reset_captures(list(zip(node.inputs[1:], branch.inputs, strict=True)))
        graph = BranchGraph(f"{branch.name}_grad")
        trace(graph, lambda branch=branch: _branch_gradients(branch, grads))
        known = {tensor.uid for tensor in (*branch.inputs, *branch.outputs)}
        inner = [each for each in graph.external_captures if getattr(each, "graph", None) is branch]
        needed.append([each for each in inner if each.uid not in known])
        graphs.append(graph)
    if any(needed):
        for at, (label, branch) in enumerate(zip(_LABELS, branches, strict=True)):
            with context.enter(branch):
                for k, tensors in enumerate(needed):
                    branch.outputs += [each if k == at else _filler(each) for each in tensors]
            branch.name += "_rewritten"
            node.attributes[label] = GraphFunction(branch.name, branch, {}).definition
        node.attributes |= _outputs_of(branches)
        extend_outputs(node, branches[0].outputs)
    captures = [
        [outside(tensor, branch, node, node.inputs[1:]) for tensor in graph.external_captures]
        for branch, graph in zip(branches, graphs, strict=True)
    ]
    return [None, *_build(node.inputs[0], graphs, captures)]


def _filler(tensor: Any) -> Any:
    return constant(0, tensor.dtype) if tensor.dtype.is_array else O.OptionalNone()


def _branch_gradients(branch: FuncGraph, grads: Sequence[Any]) -> list[Any]:
    pairs = zip(branch.outputs, grads, strict=False)
    wanted = [(output, grad) for output, grad in pairs if tape.differentiable(output)]
    targets, given = ([each[k] for each in wanted] for k in (0, 1))
    found = gradients_of(branch, targets, branch.inputs, given)
    for at, tensor in enumerate(branch.inputs):  # the other branch may have one
        if found[at] is None and tape.differentiable(tensor):
            found[at] = zeros_like(tensor)
    return [dense(grad) for grad in found]


def outside(tensor: Any, graph: FuncGraph, node: Node, inputs: Sequence[Any] = ()) -> Any:
    """What a tensor of the graph is outside the node that runs it."""
    pairs = *zip(graph.outputs, node.outputs, strict=True), *zip(graph.inputs, inputs, strict=False)
    return next((outer for inner, outer in pairs if inner is tensor), tensor)


# Assertions and printing: `tf.debugging.assert_equal`, `tf.print`. See
# `tensorflow/python/ops/check_ops.py`, `logging_ops.py`.


def Assert(condition: Any, data: Any, name: Any = None) -> Any:  # noqa: N802
    """Refuse to go on unless the condition holds. Raises InvalidArgumentError, eagerly at once."""
    if executing_eagerly():
        if not condition:
            texts = "\n".join(str(np.asarray(convert_to_tensor(each))) for each in data)
            raise InvalidArgumentError(None, None, f"Expected {condition} to be true: {texts}")
        return None
    with op_scope(name, "Assert"):
        tensors = [convert_to_tensor(each) for each in data]

        def failing() -> Any:
            O.Assert(condition, data, name="Assert")
            return current().nodes[-1]

        def passing() -> Any:
            O.NoOp()
            return current().nodes[-1]

        if all(each.dtype in {string, int32} for each in tensors):
            return failing()
        condition = convert_to_tensor(condition, name="Condition")
        return cond(condition, passing, failing, name="AssertGuard").op


def comparison(symbol: str, scope: str, op: str) -> Callable[..., Any]:
    """The assertion that a comparison holds for all elements."""

    def check(x: Any, y: Any, message: str | None = None) -> Any:
        with op_scope(None, scope):
            hint = getattr(y, "dtype", None)
            x, y = convert_to_tensor(x, name="x", dtype_hint=hint), convert_to_tensor(y, name="y")
            told = f"Condition x {symbol} y did not hold element-wise:"
            data = [x, y]
            if not executing_eagerly():
                data = [f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            prefix = [] if message is None else [message]
            return Assert(reduce_all(call(op, x, y)), [*prefix, told, *data])

    return check


def print_v2(
    *inputs: Any,
    output_stream: Any = sys.stderr,
    sep: str = " ",
    end: str = "\n",
    summarize: int = 3,
) -> Any:
    """`tf.print`."""
    tensors: list[Any] = []
    template = sep.join(_template(each, tensors) for each in inputs)
    stream = "stdout" if output_stream is sys.stdout or output_stream == "stdout" else "stderr"
    text = O.StringFormat(tensors, template=template, placeholder="{}", summarize=summarize)
    return O.PrintV2(text, output_stream=stream, end=end)


def _template(value: Any, tensors: list[Any]) -> str:
    if is_nested(value):
        return f"[{', '.join(_template(each, tensors) for each in flatten(value))}]"
    if hasattr(value, "dtype"):
        tensors.append(convert_to_tensor(value))
        return "{}"
    return str(value).replace("{}", "{ }") if not isinstance(value, str) else value
