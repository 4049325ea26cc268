"""The lines of a function that is made ready to run: what the passes did, its kernels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tflogscope.runtime.core.definition import Endpoint, FunctionDef
from tflogscope.runtime.core.tensors import CPU
from tflogscope.runtime.emitter.records import Execution
from tflogscope.runtime.emitter.text import NodeLines, attributes_of, node_text, summary
from tflogscope.runtime.emitter.voice import Voice
from tflogscope.runtime.passes import DATA_FUNCTION, SETTINGS
from tflogscope.runtime.passes.report import Report

_ADDED = frozenset({"_kernel", "is_filter_const", "workspace_enabled"})
_PRODUCTS = frozenset({"MatMul", "BatchMatMulV2", "Einsum"})
_FUSED = {
    "_FusedMatMul": "MatMul",
    "_FusedConv2D": "Conv2D",
    "_FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
}
_SHARES = frozenset(
    (
        "Const Enter Exit ExpandDims Identity Merge NextIteration ReadVariableOp Reshape Squeeze "
        "StopGradient Switch TensorListGetItem _Arg"
    ).split()
)
"""Ops whose output is not theirs alone."""


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
    lines: NodeLines
    origins: dict[str, str]
    """Of nodes that the layout pass renamed, what they were."""
    report: Report
    definition: FunctionDef
    given_up: frozenset[Endpoint]
    """Outputs that only one node reads, which may overwrite them."""
    ready: bool = False


class Instances:
    """All functions of the process."""

    def __init__(self) -> None:
        self._by_definition: dict[int, Instance] = {}
        self._handles = 0

    def of(self, definition: Any) -> Instance | None:
        """That of a function, if it was made ready."""
        return self._by_definition.get(id(definition))

    def make(self, voice: Voice, name: str, definition: FunctionDef, report: Report) -> Instance:
        """It is made ready now."""
        number = voice.costs.number(64)
        handle, self._handles = self._handles, self._handles + 2
        made = {node.name for node in report.nodes if node.type not in _SHARES}
        read = Counter(endpoint for node in report.nodes for endpoint in node.inputs)
        instance = Instance(
            f"{name}{voice.dialect.partitioned}_{number}_0",
            handle,
            NodeLines(report.nodes, voice.dialect),
            {each[1]: each[2] for each in report.events if each[0] == "rewritten"},
            report,
            definition,
            frozenset(each for each, count in read.items() if count == 1 and each[0] in made),
        )
        if name.startswith("__"):
            self._around(voice, name, instance)
        else:  # NB: a session says nothing of the kind
            _grappler(voice, "tf_graph", report)
            _layout(voice, instance)
        self._by_definition[id(definition)] = instance
        return instance

    def _around(self, voice: Voice, name: str, instance: Instance) -> None:
        component, handle = instance.component, instance.handle
        said = f'MultiDevice function "{name}"'
        voice.say("instantiating", f'Instantiating {said} on default device "{CPU}"', 12)
        _grappler(voice, name, instance.report)
        _layout(voice, instance)
        voice.say(
            "optimized",
            f'Finished graph optimizations for {said} with target device "{CPU}". Took 0 secs.',
        )
        start = f"Start instantiating component function {component} on device {CPU}"
        voice.say("component start", start, 30)
        if instance.definition.attributes.get(DATA_FUNCTION):
            prepared(voice, instance)  # tf.data asks for it: `create_kernels_eagerly`
        done = f"Finished instantiating component function {component} with handle {handle}"
        voice.say("component ready", f"{done} status: OK", 30)
        voice.say("instantiated", f"Instantiated {said} with handle {handle + 1}")


def _events(report: Report, kind: str) -> list[tuple[Any, ...]]:
    return [each[1:] for each in report.events if each[0] == kind]


def _grappler(voice: Voice, name: str, report: Report) -> None:
    optimizers = _events(report, "optimizer")
    if not optimizers or not voice.shows("grappler start"):
        return
    voice.say("grappler start", f"Starting optimization for grappler item: {name}", 200)
    text = f"item.id={name} num_optimizers=13, num nodes = {optimizers[0][1]}"
    voice.say("grappler item", f"Optimize GrapplerItem: {text}")
    for what, *facts in report.events:
        if what == "folded":
            node, op, attributes = facts
            voice.say("folded", f"Folded node: {summary(node, op, attributes, ())}", 20)
        elif what == "fused":
            _fused(voice, *facts)
        elif what == "optimizer":
            optimizer, start, end = facts
            # NB: edges are not counted
            voice.say(
                "grappler result",
                f"{optimizer}: Graph size after: {end} nodes ({end - start}), {end} edges "
                f"({end - start}), time = 0.{voice.costs.between(20, 900):03d}ms.",
                voice.costs.between(40, 500),
            )
    voice.say("grappler done", "Optimized main graph.")


def _fused(voice: Voice, node: str, op: str, fused: str, gone: list[str]) -> None:
    kind = _FUSED.get(fused)  # NB: most other fusions are made without a word
    if kind is not None and len(gone) == 1:
        text = f"Fuse {kind} with BiasAdd:  bias_add={node} contraction={gone[0]}"
        voice.say("fused", text, 20)
    elif kind is not None and len(gone) == 2:
        text = f"activation={node} bias_add={gone[1]} contraction={gone[0]}"
        voice.say("fused with activation", f"Fuse {kind} with BiasAdd and {op}: {text}", 20)


def _layout(voice: Voice, instance: Instance) -> None:
    if not SETTINGS.onednn:
        voice.say("onednn off", "TF-MKL: MKL is not enabled", 90)
        return
    lines, report = instance.lines, instance.report
    size, this = lines.count, "MklLayoutRewritePass"
    voice.say("graph", f"Graph Before running {this} #nodes {size} #edges {size}", 90)
    for one, other, _ in _events(report, "merged"):
        voice.say("merge scheduled", f"{this}: Scheduled nodes {one} and {other} for merging")
        voice.say("merged", f"{this}: Merged nodes {one} and {other}", 20)
    for at, (node, op, new, attributes) in enumerate(_events(report, "rewritten")):
        if op in _PRODUCTS:
            voice.say("rewriting matmul", "Rewriting MatMul to _MklMatMul")
        voice.say(
            "scheduled",
            f"{this}: Scheduled node {node} with op {op} for rewrite using layout optimization.",
        )
        text = lines.texts.get(node)
        if text is not None and voice.shows("original"):
            names = [each for each in text.rpartition("](")[2][:-1].split(", ") if each]
            plain = {key: value for key, value in attributes.items() if key not in _ADDED}
            old = summary(node, op, attributes_of(op, plain, voice.dialect), names)
            made = summary(node, new, attributes_of(new, attributes, voice.dialect), names)
            number = lines.numbers.get(node, 0)
            voice.say("original", f"{this}: Original node:{_debug_text(node, number, old)}")
            voice.say("new", f"{this}: New node:{_debug_text(node, size + at, made)}", 20)
        voice.say(
            "rewrote", f"{this}: rewrote node {node} with op {op} for Mkl layout optimization."
        )
    after = f"Graph After running {this}(NodeMerge+Rewrite) #nodes {size} #edges {size}"
    voice.say("graph", after)


def _debug_text(name: str, number: int, text: str) -> str:
    devices = f"{{requested: '{CPU}', assigned: '{CPU}'}}"
    return f"{{name:'{name}' id:{number} op device:{devices} def:{{{text}}}}}"


def prepared(voice: Voice, instance: Instance) -> None:
    """It runs for the first time: constants are folded, kernels made."""
    instance.ready = True
    text = f"Pruning function body: function_name={instance.component}"
    voice.say("pruning", text, 12)
    voice.say("pruning nodes", f"{text} #nodes = {instance.lines.count}", 12)
    say_constants(voice, instance.report)
    for text in instance.lines.texts.values():
        voice.say("kernel", f"Instantiating kernel for node: {text}", 7)


def say_constants(voice: Voice, report: Report) -> None:
    """The graphs of constants that ran at step −1."""
    runs = _events(report, "run")
    if not runs:
        voice.say("nothing to fold", "No constant foldable nodes found", 20)
    for (nodes,) in runs:
        voice.say("foldable", f"Constant foldable {len(nodes)} : {len(nodes)}", 20)
        for number, node in enumerate(nodes):
            execution = Execution("graph", "folding", node.type, node.type, node=node.name, step=-1)
            shown = node_text(node, voice.dialect, marked=False, running=True)
            body = f"{number + (number > 0)} step -1 {shown} device: /device:CPU:0"
            voice.began(execution)
            voice.say("process", f"Process node: {body}", 6, execution, stands=True)
            voice.say("done", f"Synchronous kernel done: {body}", 4, execution)
            voice.ended(execution)
    for name, output, _ in _events(report, "replaced"):
        voice.say("replacing", f"Replacing {name} :: {output} with a constant")
