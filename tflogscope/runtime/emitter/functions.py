"""The lines of a function that is made ready to run: what the layout pass did, its kernels. See
`core/common_runtime/process_function_library_runtime.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tflogscope.runtime.core.definition import FunctionDef, NodeDef
from tflogscope.runtime.core.tensors import CPU
from tflogscope.runtime.emitter.records import Execution
from tflogscope.runtime.emitter.text import node_text
from tflogscope.runtime.emitter.voice import Voice
from tflogscope.runtime.passes import DATA_FUNCTION, SETTINGS
from tflogscope.runtime.passes.graph import Graph
from tflogscope.runtime.passes.onednn import Report, use_onednn


def plain_name(name: str) -> str | None:
    """The Python function's name in `__inference_NAME_12` or `__backward_…`; None for a session."""
    if not name.startswith("__"):
        return None
    inner = name.removeprefix("__").partition("_")[2].rpartition("_")[0]
    backward = inner.removeprefix("__backward_")
    return backward.rpartition("_")[0] if backward != inner else inner


@dataclass(slots=True, eq=False)
class Instance:
    """A function as it runs."""

    component: str
    handle: int
    definition: FunctionDef
    report: Report
    numbers: dict[str, int]
    texts: dict[str, str]
    """The nodes as they run."""
    ready: bool = False


def instantiated(voice: Voice, definition: FunctionDef, report: Report, handle: int) -> Instance:
    """It is made ready. NB: what Grappler's optimizers say is left out, and the nodes as they were
    before the layout pass.
    """
    name, dialect = definition.name, voice.dialect
    component = f"{name}{dialect.partitioned}_{voice.costs.number(64)}_0"
    nodes = [NodeDef("_SOURCE", "NoOp"), *report.nodes]
    numbers = {node.name: at + (at > 0) for at, node in enumerate(nodes)}  # 1 is the sink
    texts = {node.name: node_text(node, dialect, running=True) for node in nodes}
    instance = Instance(component, handle, definition, report, numbers, texts)
    traced = name.startswith("__")  # NB: a session says nothing of the kind
    said, this = f'MultiDevice function "{name}"', "MklLayoutRewritePass"
    if traced:
        voice.say("instantiating", f'Instantiating {said} on default device "{CPU}"', 12)
    for node in nodes:
        old = report.rewritten.get(node.name)
        if old is not None:
            facts = f"name:'{node.name}' id:{numbers[node.name]} op device:"
            facts += f"{{requested: '{CPU}', assigned: '{CPU}'}} def:{{{node_text(node, dialect)}}}"
            voice.say("new", f"{this}: New node:{{{facts}}}", 20)
            text = f"rewrote node {node.name} with op {old} for Mkl layout optimization."
            voice.say("rewrote", f"{this}: {text}")
    if definition.attributes.get(DATA_FUNCTION):
        prepared(voice, instance)  # tf.data asks for it: `create_kernels_eagerly`
    if traced:
        component = f"component function {component} with handle {handle}"
        voice.say("component ready", f"Finished instantiating {component} status: OK", 60)
        voice.say("instantiated", f"Instantiated {said} with handle {handle + 1}")
    return instance


def prepared(voice: Voice, instance: Instance) -> None:
    """It runs for the first time: constants are folded, kernels made."""
    instance.ready = True
    text = f"Pruning function body: function_name={instance.component}"
    voice.say("pruning", text, 12)
    voice.say("pruning nodes", f"{text} #nodes = {len(instance.texts) + 1}", 12)
    for number, node in (pair for run in instance.report.runs for pair in enumerate(run)):
        # the graphs of constants that ran at step −1
        execution = Execution("graph", "folding", node.type, node.type, node=node.name, step=-1)
        shown = node_text(node, voice.dialect, running=True)
        body = f"{number + (number > 0)} step -1 {shown} device: /device:CPU:0"
        voice.began(execution)
        voice.say("process", f"Process node: {body}", 6, execution)
        voice.say("done", f"Synchronous kernel done: {body}", 4, execution)
        execution.end = voice.strand.now
    kernels_made(voice, [NodeDef("_SOURCE", "NoOp"), *instance.report.nodes])


def kernels_made(voice: Voice, nodes: Sequence[NodeDef]) -> None:
    for node in nodes:
        shown = node_text(node, voice.dialect)
        voice.say("kernel", f"Instantiating kernel for node: {shown}", 9)


def wrapper(
    op: str, inputs: Sequence[Any], attributes: Mapping[str, Any], outputs: Sequence[Any]
) -> tuple[FunctionDef, Report]:
    """The function of one node that an eager op becomes, after the layout pass. See
    `WrapInCallOp` of `core/common_runtime/eager/execute.cc`.
    """
    sources = [(f"input_{at}", 0) for at in range(len(inputs))]
    nodes = [
        NodeDef(source, "_Arg", [], [], {"T": e.dtype, "index": at}, CPU, (e.dtype,))
        for at, ((source, _), e) in enumerate(zip(sources, inputs, strict=True))
    ]
    nodes.append(NodeDef(op, op, sources, [], dict(attributes), CPU, tuple(outputs)))
    for at, dtype in enumerate(outputs):
        given = {"T": dtype, "index": at}
        nodes.append(NodeDef(f"output_{at}_RetVal", "_Retval", [(op, at)], [], given, CPU))
    graph, report = Graph(nodes, [node.name for node in nodes]), Report(nodes)
    if SETTINGS.onednn:
        use_onednn(graph, report)
    return FunctionDef(f"__wrapped__{op.replace('_', '__')}_device_{CPU}", nodes), report
