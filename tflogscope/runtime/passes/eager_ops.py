"""What an eager op goes through: a function of one node, and perhaps another op instead.

Since 2.8 TensorFlow wraps each eager op in a function, `__wrapped__MatMul_device_…`, which goes
through the layout pass like any other, but not through grappler, and which is run without a word
about its node. Once that function is there, the eager rewrite registry may put another op in the
place of the op: then a second function is made, and the first never runs. So the layout pass says
that it rewrote a node that does not run: a phantom.

Told about: `GetOrCreateKernelAndDevice` and `WrapInCallOp` of `eager/execute.cc`,
`mkl_eager_op_rewrite.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime import telling
from tflogscope.runtime.devices import CPU
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.function.definition import FunctionDef, NodeDef
from tflogscope.runtime.operations import lookup
from tflogscope.runtime.passes import fused_ops  # noqa: F401 - registers oneDNN's ops
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.passes.layout import use_onednn
from tflogscope.runtime.passes.onednn import has_kernel, onednn_name
from tflogscope.runtime.passes.settings import Settings, current

__all__ = ["rewritten", "tell", "wrapper_name"]

_ALWAYS = frozenset(
    {
        *("AvgPool", "AvgPoolGrad", "AvgPool3D", "AvgPool3DGrad", "BatchMatMul", "BatchMatMulV2"),
        *("Conv2D", "Conv3D", "DepthwiseConv2dNative", "Einsum", "MatMul"),
        *("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
        *("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"),
    }
)
_UNLESS_EXPLICIT = frozenset(
    {
        *("Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3DBackpropFilterV2"),
        *("Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropFilter"),
        *("DepthwiseConv2dNativeBackpropInput",),
    }
)
"""The registry. NB: MaxPool is not in it, because its gradient would need what oneDNN remembers."""


def rewritten(op: str, attributes: Mapping[str, Any], settings: Settings | None = None) -> str:
    """The op that is run instead; the same one, if none. Without settings it is as in a run that
    nobody has set up.
    """
    settings = settings or current() or Settings()
    listed = op in _ALWAYS or (op in _UNLESS_EXPLICIT and attributes.get("padding") != "EXPLICIT")
    if not (settings.onednn and listed and has_kernel(op, attributes.get("T"))):
        return op
    return onednn_name(op)


def wrapper_name(op: str) -> str:
    """The function of one node that an eager op is wrapped in."""
    return f"__wrapped__{op.replace('_', '__')}_device_{CPU}"


def tell(
    op: str,
    attributes: Mapping[str, Any],
    dtypes: Sequence[tuple[DType, ...]],
    settings: Settings,
    *,
    cached: bool,
) -> str:
    """Tell what precedes a dispatch; gives the op that is dispatched.

    `dtypes`: those of the inputs, and those of the outputs.
    """
    new = rewritten(op, attributes, settings)
    listener = telling.listener
    if listener is not None and not cached:
        function = _wrapper(op, attributes, dtypes, settings)
        listener.function_instantiated(function.name, function)
        if new != op:
            listener.op_rewritten(op, new, attributes)
            function = _wrapper(new, attributes, dtypes, settings)
            listener.function_instantiated(function.name, function)
        for node in function.nodes:
            listener.kernel_created(node, CPU)
    return new


def _wrapper(
    op: str,
    attributes: Mapping[str, Any],
    dtypes: Sequence[tuple[DType, ...]],
    settings: Settings,
) -> FunctionDef:
    """The function of this one op, after the layout pass."""
    inputs, outputs = dtypes
    arguments = [
        Node(f"input_{index}", "_Arg", attributes={"T": dtype, "index": index}, dtypes=(dtype,))
        for index, dtype in enumerate(inputs)
    ]
    sources = [(node.name, 0) for node in arguments]
    plain = {name: value for name, value in attributes.items() if not name.startswith("__")}
    node = Node(op, op, sources, [], plain, CPU, outputs)
    results = [
        Node(f"output_{index}_RetVal", "_Retval", [(op, index)], [], {"T": dtype, "index": index})
        for index, dtype in enumerate(outputs)
    ]
    graph = MutableGraph([*arguments, node, *results], [each.name for each in results], op)
    if settings.onednn:
        use_onednn(graph)
    frozen = [
        _frozen(graph[name]) for name in graph.nodes if graph[name].type[0] != "_" or name == op
    ]
    return FunctionDef(wrapper_name(op), (), tuple(frozen), (), ())


def _frozen(node: Node) -> NodeDef:
    try:
        definition = lookup(node.type)
    except NotInThisRuntime:  # an op of oneDNN's that is only run eagerly
        definition = lookup("NoOp")
    return NodeDef(
        node.name,
        definition,
        tuple(node.inputs),
        (),
        node.attributes,
        node.device,
        node.dtypes,
    )
