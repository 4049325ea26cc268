"""How a function is made ready, in the log: the lines of `process_function_library_runtime.cc`,
grappler and the layout pass, in their order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime.devices import CPU
from tflogscope.runtime.emitter.node_lines import (
    NodeLines,
    attributes_of,
    debug_text,
    node_summary,
    summary,
)
from tflogscope.runtime.emitter.records import Execution
from tflogscope.runtime.emitter.voice import Events, Voice
from tflogscope.runtime.function.definition import Endpoint, FunctionDef
from tflogscope.runtime.passes.functions import DATA_FUNCTION

__all__ = ["Instance", "Instances", "plain_name", "prepared", "say_constants"]

_ADDED = frozenset({"_kernel", "is_filter_const", "workspace_enabled"})
_MATMUL_RULE = frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum"})
_CONTRACTIONS = {
    "_FusedMatMul": "MatMul",
    "_FusedConv2D": "Conv2D",
    "_FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
}
_SHORT = "/device:CPU:0"
_BACKWARD = "__backward_"


def plain_name(name: str) -> str | None:
    """`train` of `__inference_train_19`; nothing for a session."""
    if not name.startswith("__"):
        return None
    inner = name.removeprefix("__").partition("_")[2].rpartition("_")[0]
    if inner.startswith(_BACKWARD):
        return inner.removeprefix(_BACKWARD).rpartition("_")[0]
    return inner


_KEEPS = frozenset(
    {
        "Const", "Enter", "Exit", "ExpandDims", "Identity", "Merge", "NextIteration",
        "ReadVariableOp", "Reshape", "Squeeze", "StopGradient", "Switch", "TensorListGetItem",
        "_Arg",
    }
)  # fmt: skip
"""Ops whose output is held by others too: a constant, a variable's value, the input itself."""


@dataclass(slots=True, eq=False)
class Instance:
    """A function that is ready to run."""

    component: str
    handle: int
    lines: NodeLines
    origins: dict[str, str]
    """By node, the op that it was before the layout pass."""
    events: Events
    definition: FunctionDef
    ready: bool = False
    """Whether its kernels are there."""
    given_up: frozenset[Endpoint] = field(init=False)
    """Outputs that their only reader may write its own result over."""

    def __post_init__(self) -> None:
        """Count the readers: `forward_input_to_output_with_shape` asks how many there are."""
        nodes = self.definition.nodes
        kept = {node.name for node in nodes if node.type in _KEEPS}
        made = {node.name for node in nodes} - kept
        readers = Counter(endpoint for node in nodes for endpoint in node.inputs)
        readers.update(self.definition.results)
        self.given_up = frozenset(
            endpoint for endpoint, count in readers.items() if count == 1 and endpoint[0] in made
        )


@dataclass(slots=True)
class Instances:
    """All functions of the process that are ready, by definition."""

    onednn: bool = True
    by_definition: dict[int, Instance] = field(default_factory=dict)
    handles: int = 0

    def make(self, voice: Voice, name: str, definition: FunctionDef, events: Events) -> Instance:
        """Say how the function is made ready."""
        lines = NodeLines(definition, voice.dialect)
        number = voice.costs.number(64)
        component = f"{name}{voice.dialect.partitioned}_{number}_0"
        handle = self.handles
        self.handles += 2
        origins = {node: op for node, op, _, _ in events.rewritten}
        instance = Instance(component, handle, lines, origins, events, definition)
        if name.startswith("__"):
            self._around(voice, name, instance)
        else:  # NB: a session says nothing of the kind
            _grappler(voice, "tf_graph", events)
            self._layout(voice, lines, events)
        self.by_definition[id(definition)] = instance
        return instance

    def _around(self, voice: Voice, name: str, instance: Instance) -> None:
        """The optimisation of a function, and what is said around it."""
        lines, events = instance.lines, instance.events
        component, handle = instance.component, instance.handle
        voice.say(
            "instantiating",
            f'Instantiating MultiDevice function "{name}" on default device "{CPU}"',
            12,
        )
        _grappler(voice, name, events)
        self._layout(voice, lines, events)
        voice.say(
            "optimized",
            f'Finished graph optimizations for MultiDevice function "{name}" with target '
            f'device "{CPU}". Took 0 secs.',
        )
        voice.say(
            "component start",
            f"Start instantiating component function {component} on device {CPU}",
            30,
        )
        if instance.definition.attributes.get(DATA_FUNCTION):
            prepared(voice, instance)  # tf.data asks for it: `create_kernels_eagerly`
        voice.say(
            "component ready",
            f"Finished instantiating component function {component} with handle {handle} "
            "status: OK",
            30,
        )
        voice.say(
            "instantiated", f'Instantiated MultiDevice function "{name}" with handle {handle + 1}'
        )

    def _layout(self, voice: Voice, lines: NodeLines, events: Events) -> None:
        if self.onednn:
            _layout(voice, lines, events)
        else:
            voice.say("onednn off", "TF-MKL: MKL is not enabled", 90)

    def of(self, definition: Any) -> Instance | None:
        """The one of that definition, if it was made ready here."""
        return self.by_definition.get(id(definition))


def _grappler(voice: Voice, name: str, events: Events) -> None:
    if not events.optimizers or not voice.shows("grappler start"):
        return
    before = events.optimizers[0][1]
    voice.say("grappler start", f"Starting optimization for grappler item: {name}", 200)
    voice.say(
        "grappler item",
        f"Optimize GrapplerItem: item.id={name} num_optimizers=13, num nodes = {before}",
    )
    first_remapper = True
    for optimizer, start, end in events.optimizers:
        if optimizer == "constant_folding":
            _folded(voice, events)
        if optimizer == "remapper" and first_remapper:
            first_remapper = False
            _fused(voice, events)
        # NB: the runtime's passes don't count edges
        voice.say(
            "grappler result",
            f"{optimizer}: Graph size after: {end} nodes ({end - start}), "
            f"{end} edges ({end - start}), time = 0.{voice.costs.between(20, 900):03d}ms.",
            voice.costs.between(40, 500),
        )
    voice.say("grappler done", "Optimized main graph.")


def _folded(voice: Voice, events: Events) -> None:
    for node, op, attributes in events.folded:
        voice.say("folded", f"Folded node: {summary(node, op, attributes, ())}", 20)
    events.folded = []


def _fused(voice: Voice, events: Events) -> None:
    for node, op, fused, gone in events.fused:
        kind = _CONTRACTIONS.get(fused)
        if kind is None or not gone:
            continue  # NB: most fusions are made without a word
        if len(gone) == 1:
            text = f"Fuse {kind} with BiasAdd:  bias_add={node} contraction={gone[0]}"
            voice.say("fused", text, 20)
        elif len(gone) == 2:
            text = (
                f"Fuse {kind} with BiasAdd and {op}: activation={node} bias_add={gone[1]} "
                f"contraction={gone[0]}"
            )
            voice.say("fused with activation", text, 20)


def _layout(voice: Voice, lines: NodeLines, events: Events) -> None:
    size = lines.count
    voice.say("graph", f"Graph Before running MklLayoutRewritePass #nodes {size} #edges {size}", 90)
    for one, other, _ in events.merged:
        voice.say(
            "merge scheduled",
            f"MklLayoutRewritePass: Scheduled nodes {one} and {other} for merging",
        )
        voice.say("merged", f"MklLayoutRewritePass: Merged nodes {one} and {other}", 20)
    for op, reason in events.refused:
        voice.say(
            "skipped",
            f"MklLayoutRewritePass: Skipping rewriting of the node {op}, reason: {reason}",
        )
    for at, (node, op, new, attributes) in enumerate(events.rewritten):
        if op in _MATMUL_RULE:
            voice.say("rewriting matmul", "Rewriting MatMul to _MklMatMul")
        text = lines.texts.get(node)
        voice.say(
            "scheduled",
            f"MklLayoutRewritePass: Scheduled node {node} with op {op} for rewrite using layout "
            "optimization.",
        )
        if text is not None and voice.shows("original"):
            names = [each for each in text.rpartition("](")[2][:-1].split(", ") if each]
            plain = {key: value for key, value in attributes.items() if key not in _ADDED}
            old = summary(node, op, attributes_of(op, plain, voice.dialect), names)
            number = lines.numbers.get(node, 0)
            voice.say(
                "original", f"MklLayoutRewritePass: Original node:{debug_text(node, number, old)}"
            )
            made = summary(node, new, attributes_of(new, attributes, voice.dialect), names)
            voice.say(
                "new", f"MklLayoutRewritePass: New node:{debug_text(node, size + at, made)}", 20
            )
        voice.say(
            "rewrote",
            f"MklLayoutRewritePass: rewrote node {node} with op {op} for Mkl layout optimization.",
        )
    voice.say(
        "graph",
        f"Graph After running MklLayoutRewritePass(NodeMerge+Rewrite) #nodes {size} #edges {size}",
    )


def prepared(voice: Voice, instance: Instance) -> None:
    """Constants are computed, kernels created: when a function first runs, or before that."""
    instance.ready = True
    text = f"Pruning function body: function_name={instance.component}"
    voice.say("pruning", text, 12)
    voice.say("pruning nodes", f"{text} #nodes = {instance.lines.count}", 12)
    if instance.events.runs:
        say_constants(voice, instance.events)
    else:
        voice.say("nothing to fold", "No constant foldable nodes found", 20)
    instance.events = Events()
    if voice.shows("kernel"):
        for text in instance.lines.texts.values():
            voice.say("kernel", f"Instantiating kernel for node: {text}", 7)


def say_constants(voice: Voice, events: Events) -> None:
    """Runs in which constants are computed: step -1."""
    for nodes in events.runs:
        voice.say("foldable", f"Constant foldable {len(nodes)} : {len(nodes)}", 20)
        for number, node in enumerate(nodes):
            execution = Execution("graph", "folding", node.type, node.type, node=node.name, step=-1)
            place = number + (number > 0)
            shown = node_summary(node, voice.dialect, marked=False, running=True)
            body = f"{place} step -1 {shown} device: {_SHORT}"
            voice.began(execution)
            voice.say("process", f"Process node: {body}", 6, execution, stands=True)
            voice.say("done", f"Synchronous kernel done: {body}", 4, execution)
            voice.ended(execution)
    for name, output in events.replaced:
        voice.say("replacing", f"Replacing {name} :: {output} with a constant")
    events.runs, events.replaced = [], []
