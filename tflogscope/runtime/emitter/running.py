"""Functions, made ready and run. What the layout pass did and which kernels there are is said when a
function is made ready (`core/common_runtime/process_function_library_runtime.cc`). Each node of a step is
on a strand of its own. When the step is over, the strands are dealt to the threads of the pool, each as
soon as what the node waits for is done. So the log shows any number of threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tflogscope.runtime.core.errors import OpError
from tflogscope.runtime.core.graph import FunctionDef, NodeDef
from tflogscope.runtime.core.telling import Listener
from tflogscope.runtime.core.tensors import CPU
from tflogscope.runtime.emitter.output import Output, Prefixes
from tflogscope.runtime.emitter.primitives import Kernel, header, line, plans
from tflogscope.runtime.emitter.records import (
    WORKER,
    Execution,
    Primitive,
    Strand,
    node_text,
    status,
    type_name,
)
from tflogscope.runtime.emitter.voice import Costs, Voice, Voices
from tflogscope.runtime.passes import DATA_FUNCTION, SETTINGS
from tflogscope.runtime.passes.remapper import Report

_PLUMBING = frozenset({"_Arg", "_Retval", "_Send", "_Recv"})
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_ASYNC = frozenset({"IteratorGetNext", "_Recv"})

_ON = (
    "oneDNN custom operations are on. You may see slightly different numerical results due to "
    "floating-point round-off errors from different computation orders. To turn them off, set the "
    "environment variable `TF_ENABLE_ONEDNN_OPTS=0`."
)
_FEATURES = (
    "This TensorFlow binary is optimized to use available CPU instructions in performance-critical "
    "operations.\nTo enable the following instructions: AVX2 AVX512F AVX512_VNNI AVX512_BF16 FMA, in "
    "other operations, rebuild TensorFlow with the appropriate compiler flags."
)


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


@dataclass(slots=True, eq=False)
class Item:
    """A node that runs, or has run."""

    node: NodeDef
    strand: Strand
    execution: Execution
    waits: Sequence[int]
    text: str

    def said(self, mark: str = "") -> str:
        """How its lines speak of it."""
        return f"{self.text}{mark} device: {self.node.device or CPU}"


@dataclass(slots=True, eq=False)
class Step:
    """One run of a function."""

    number: int
    instance: Instance
    call: Execution | None
    is_data: bool
    called: bool
    """By a node or eagerly, and not by an op that runs a function itself."""
    items: list[Item] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)


class Steps(Listener):
    """Hears of functions and their nodes."""

    def __init__(self, output: Output, prefixes: Prefixes, seed: int, threads: int) -> None:
        costs = Costs(seed)
        pid = 4000 + costs.number(12)
        self._pool, self._data_thread = [pid + 10 + each for each in range(threads)], pid + 90
        self._instances: dict[int, Instance] = {}
        self._kernels: dict[Any, tuple[Instance | None, str]] = {}
        voices = self._voices = Voices(output, prefixes, costs, pid)
        self._here, self._flush, self.close = voices.here, voices.flush, voices.close
        self.printed, self.sleep = voices.printed, voices.sleep
        self._sessions = self._allocations = 0
        self._introduced = False
        if SETTINGS.onednn:
            voices.main.say("onednn on", _ON)
        voices.main.say("cpu features", _FEATURES, 40_000)
        voices.main.strand.now += 1_000_000

    # -- kernels

    def _run(
        self, voice: Voice, execution: Execution, attributes: Any, inputs: Any, outputs: Any
    ) -> None:
        """Let a kernel run: the time it takes, and the primitives that it runs."""
        op = execution.kernel
        order = list(inputs[1]) if op == "_MklTranspose" else []
        taken, given = ([_shape(each) for each in part] for part in (inputs, outputs))
        size = 4 * sum(map(prod, taken + given))
        found = plans(Kernel(op, attributes, taken, given, voice.dialect, order))
        if not found:
            voice.strand.now += voice.costs.kernel(size)
        elif found[0].kind == "gemm_api":
            voice.say("sgemm", "MKL DNN SGEMM called")
        for plan in found:
            ms = voice.costs.primitive(plan.kind, plan.problem, size)
            voice.strand.now += 3 + int(ms * 1000)
            if plan.kind == "gemm_api" and not voice.dialect.wraps_ops:
                continue
            for text in () if self._introduced else header(voice.dialect, len(self._pool)):
                voice.say("onednn", text, 1)
            self._introduced = True
            primitive = Primitive(plan.kind, plan.implementation, plan.problem, ms, execution)
            voice.strand.ran.append(primitive)
            voice.say("onednn", line(plan, ms, voice.dialect), 1, primitive)

    def _memory(self, voice: Voice, step: int, node: NodeDef, index: int, value: Any) -> None:
        """What an output takes."""
        self._allocations += 1
        dtype, shape = node.dtypes[index], _shape(value)
        dims = "".join(f"dim {{ size: {size} }} " for size in shape)
        size = prod(shape) * (dtype.size if dtype.is_array else 192)
        note = "goo.gle/debugonly   " if voice.dialect.absl else ""
        place = f"index: {index} " if index else ""
        text = (
            f"__LOG_MEMORY__ MemoryLogTensorOutput {{ {note}step_id: {step} kernel_name: "
            f'"{node.name}" {place}tensor {{ dtype: {type_name(dtype)} shape {{ {dims}}} '
            f"allocation_description {{ requested_bytes: {size} allocated_bytes: {size} "
            f'allocator_name: "mklcpu" allocation_id: {self._allocations} '
            f"ptr: {94_000_000_000_000 + 64 * self._allocations} }} }} }}"
        )
        voice.say("memory", text, 12)

    # -- functions

    def function_instantiated(self, definition: FunctionDef, report: Report) -> None:
        self._instance(self._here(), definition, report)

    def _instance(self, voice: Voice, definition: FunctionDef, report: Report) -> Instance:
        made = instantiated(voice, definition, report, 2 * len(self._instances))
        self._instances[id(definition)] = made
        return made

    def function_called(self, definition: FunctionDef) -> None:
        voice, name = self._here(), definition.name
        instance = self._instances.get(id(definition))
        if instance is None:  # it was made ready before anybody listened
            report = Report([item.node for item in definition.plan.items[1:]])
            instance = self._instance(voice, definition, report)
        data = bool(definition.attributes.get(DATA_FUNCTION))
        inner = voice.steps[-1].call if voice.steps and not data else None
        call = voice.dispatches[-1][0] if voice.dispatches else None
        if call is None or call.op != name or any(each.call is call for each in voice.steps):
            call = None  # a node calls it
        elif call.thread == WORKER:
            self._executing(voice, call)
        called = call is not None or bool(voice.items and voice.items[-1].node.type in _CALLS)
        if called:
            text = f"device {CPU} from {name} with handle {instance.handle}"
            voice.say("running", f"Running component function on {text}", 20, call)
        self._sessions += not name.startswith("__")
        number = -1 - voice.costs.number(62) if name.startswith("__") else self._sessions
        voice.steps.append(Step(number, instance, call or inner, data, called))
        voice.strands.append(Strand(self._data_thread if data else voice.strand.thread))
        if not instance.ready and name.startswith("__"):
            prepared(voice, instance)

    def function_returned(self, definition: FunctionDef, error: Any) -> None:
        """Its nodes are dealt to threads."""
        voice = self._here()
        run = voice.steps.pop()
        while voice.items and voice.items[-1] in run.items:
            voice.items.pop()  # cut off by an exception that is no error of a kernel
            voice.strands.pop()
        inner = voice.strands.pop()
        inner.now += 10
        inner.now += _deal(run, inner, (self._data_thread,) if run.is_data else self._pool)
        outer = voice.strand
        outer.take(inner, outer.now, inner.thread)
        outer.now += inner.now
        if run.called:
            place = f"target {CPU} from {definition.name} with handle {run.instance.handle}"
            said = "succeeded." if error is None else f"failed: {status(error)}"
            text = f"Component function execution on {place} {said}"
            voice.say("ran" if error is None else "failed", text, 12)
        self._flush(voice)

    @staticmethod
    def _executing(voice: Voice, call: Execution) -> None:
        """A call executes: that is said once."""
        voice.began(call)
        voice.say("executing", f"Executing op {call.op} in device {CPU}", 12, call)

    # -- nodes

    def node_started(self, node: NodeDef, dead: str = "") -> None:
        voice = self._here()
        run = voice.steps[-1]
        instance, origin = run.instance, run.instance.report.rewritten.get(node.name)
        plumbing = node.type in _PLUMBING or node.name == "_SOURCE"
        execution = Execution(
            "graph",
            "plumbing" if plumbing else "op",
            origin or node.type,
            node.type,
            "layout" if origin else "remapper" if node.type.startswith("_Mkl") else "none",
            node.name,
            plain_name(instance.definition.name),
            run.call,
            run.number,
        )
        number, text = instance.numbers.get(node.name, 0), instance.texts.get(node.name, "")
        text = f"{number} step {run.number} {text}"
        names = {name for name, _ in node.inputs}.union(node.controls)
        waits = sorted({run.last[name] for name in names if name in run.last})
        # all wait for _SOURCE
        item = Item(node, Strand(WORKER), execution, waits or [0] * bool(run.items), text)
        run.last[node.name] = len(run.items)
        run.items.append(item)
        voice.items.append(item)
        voice.strands.append(item.strand)
        voice.began(execution)
        voice.say("process", f"Process node: {item.said(dead)}", 10, execution)

    def node_done(self, node: NodeDef, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        voice = self._here()
        item, run = voice.items[-1], voice.steps[-1]
        if item.execution.kind == "op":
            self._run(voice, item.execution, node.attributes, inputs, outputs)
        if voice.shows("memory"):
            for index, value in enumerate(outputs[: len(node.dtypes)]):
                self._memory(voice, run.number, node, index, value)
        kind, says = ("async done", "Async") if node.type in _ASYNC else ("done", "Synchronous")
        self._over(voice, kind, f"{says} kernel done: {item.said()}")

    def node_dead(self, node: NodeDef) -> None:
        self.node_started(node, " is dead")
        voice = self._here()
        item = voice.items[-1]
        item.execution.status = "dead"
        self._over(voice, "done", f"Synchronous kernel done: {item.said(' is dead: ')}")

    def node_failed(self, node: NodeDef, error: BaseException) -> None:
        voice = self._here()
        item = voice.items[-1]
        item.execution.status = "failed"
        text, where = status(error), f"\n\t [[{{{{node {node.name}}}}}]]"
        address = f"0x{0x5600_0000_0000 + 64 * voice.costs.number(30):x}"
        if isinstance(error, OpError):
            voice.say("op failed", f"OP_REQUIRES failed at {node.type.lower()}_op.cc:1 : {text}", 6)
        voice.say("node failed", f"{address} Compute status: {text}{where}", 6, item.execution)
        voice.say("done", f"Synchronous kernel done: {item.said()}", 4, item.execution)
        self._over(voice, "aborting", f"[{CPU}] Executor start aborting: {text}{where}")

    @staticmethod
    def _over(voice: Voice, kind: str, text: str) -> None:
        item = voice.items.pop()
        voice.say(kind, text, 10, item.execution)
        item.execution.end = voice.strands.pop().now


def _shape(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, np.ndarray) else ()


def _deal(step: Step, into: Strand, threads: Sequence[int]) -> int:
    """Deal the nodes to the threads: who has been ready for longest goes to who has been idle for
    longest. When the last one ends.
    """
    items, at = step.items, into.now
    readers: list[list[int]] = [[] for _ in items]
    missing = [len(item.waits) for item in items]
    for index, item in enumerate(items):
        for other in item.waits:
            readers[other].append(index)
    ready = [(0, index) for index, count in enumerate(missing) if not count]
    free = [(0, place) for place in range(len(threads))]
    ends = [0] * len(items)
    while ready:
        since, index = heapq.heappop(ready)
        idle, place = heapq.heappop(free)
        start = max(since, idle)
        into.take(items[index].strand, at + start, threads[place])
        ends[index] = start + items[index].strand.now
        heapq.heappush(free, (ends[index] + 1, place))
        for reader in readers[index]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (max(ends[each] for each in items[reader].waits), reader))
    return max(ends, default=0)
