"""The nodes of a step: each on a strand of its own, which are dealt to the threads of the pool when the
step is over, as soon as what a node waits for is done. So the log shows any number of threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tflogscope.runtime.core.definition import Endpoint, FunctionDef, NodeDef
from tflogscope.runtime.core.errors import OpError
from tflogscope.runtime.core.tensors import CPU
from tflogscope.runtime.emitter.functions import Instance, plain_name, prepared
from tflogscope.runtime.emitter.primitives import Kernel, plans
from tflogscope.runtime.emitter.records import WORKER, Execution, Primitive, Strand
from tflogscope.runtime.emitter.text import status, type_name
from tflogscope.runtime.emitter.verbose import header, line
from tflogscope.runtime.emitter.voice import Dispatch, Voice
from tflogscope.runtime.ops.flow import DEAD
from tflogscope.runtime.passes import DATA_FUNCTION

Shape = tuple[int, ...]
_PLUMBING = frozenset({"_Arg", "_Retval", "_Send", "_Recv"})
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_ASYNC = frozenset({"IteratorGetNext", "_Recv"})


def shape_of(value: Any) -> Shape:
    """The shape of a tensor or array."""
    array = getattr(value, "value", value)
    return array.shape if isinstance(array, np.ndarray) else ()


class Engine:
    """Kernels, with the time they take and the primitives they run."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._introduced = False
        self._allocations = 0

    def run(self, voice: Voice, kernel: Kernel, execution: Execution) -> None:
        """Let a kernel run."""
        size = 4 * sum(prod(shape) for shape in (*kernel.inputs, *kernel.outputs))
        found = plans(kernel) if kernel.op.startswith("_Mkl") else []
        if not found:
            voice.strand.now += voice.costs.kernel(size)
        elif found[0].kind == "gemm_api":
            voice.say("sgemm", "MKL DNN SGEMM called")
        for plan in found:
            ms = voice.costs.primitive(plan.kind, plan.problem, size)
            voice.strand.now += 3 + int(ms * 1000)
            if plan.kind == "gemm_api" and not voice.dialect.gemm:
                continue
            if not self._introduced:
                self._introduced = True
                for text in header(voice.dialect, self._threads):
                    voice.bare("onednn", text)
            kind = plan.kind.removesuffix("_v2")
            primitive = Primitive(kind, plan.implementation, plan.problem, ms, execution)
            voice.strand.primitives.append(primitive)
            voice.bare("onednn", line(plan, ms, voice.dialect), primitive)

    def output(self, voice: Voice, step: int, node: NodeDef, index: int, shape: Shape) -> None:
        """What an output takes."""
        self._allocations += 1
        dtype = node.dtypes[index]
        dims = "".join(f"dim {{ size: {size} }} " for size in shape)
        size = prod(shape) * (dtype.size if dtype.is_array else 192)
        note = "goo.gle/debugonly   " if voice.dialect.redacted else ""
        place = f"index: {index} " if index else ""
        text = (
            f"__LOG_MEMORY__ MemoryLogTensorOutput {{ {note}step_id: {step} kernel_name: "
            f'"{node.name}" {place}tensor {{ dtype: {type_name(dtype)} shape {{ {dims}}} '
            f"allocation_description {{ requested_bytes: {size} allocated_bytes: {size} "
            f'allocator_name: "mklcpu" allocation_id: {self._allocations} '
            f"ptr: {94_000_000_000_000 + 64 * self._allocations} }} }} }}"
        )
        voice.say("memory", text, 12)


@dataclass(slots=True, eq=False)
class _Item:
    """A node that runs, or has run."""

    node: NodeDef
    strand: Strand
    execution: Execution
    waits: Sequence[int]


@dataclass(slots=True, eq=False)
class Step:
    """One run of a function."""

    number: int
    instance: Instance
    name: str
    call: Execution | None
    is_data: bool
    called: bool
    """By a node or eagerly, and not by an op that runs a function itself."""
    items: list[_Item] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, list[Any]] = field(default_factory=dict)

    def waits(self, node: NodeDef) -> list[int]:
        """The items that it comes after."""
        names = {name for name, _ in node.inputs}.union(node.controls)
        found = {self.last[name] for name in names if name in self.last}
        return sorted(found) or [0] * bool(self.items)  # all wait for _SOURCE

    def value(self, endpoint: Endpoint) -> Any:
        """What an output gave last."""
        found = self.outputs.get(endpoint[0], [])
        return found[endpoint[1]] if endpoint[1] < len(found) else None


class Runs:
    """Steps, from begin to end."""

    def __init__(self, engine: Engine, pool: Sequence[int], data_thread: int) -> None:
        self._engine, self._pool, self._data_thread = engine, pool, data_thread
        self._sessions = 0

    @staticmethod
    def say_executing(voice: Voice, dispatch: Dispatch) -> None:
        """A call executes."""
        dispatch.said = True
        voice.began(dispatch.execution)
        text = f"Executing op {dispatch.op} in device {CPU}"
        voice.say("executing", text, 12, dispatch.execution, stands=True)

    def begin(
        self, voice: Voice, definition: FunctionDef, instance: Instance, dispatch: Dispatch | None
    ) -> None:
        """A function begins to run."""
        name = definition.name
        called = dispatch is not None
        if dispatch is not None and not dispatch.said:
            self.say_executing(voice, dispatch)
        if called or (voice.items and voice.items[-1].node.type in _CALLS):
            called = True
            text = f"device {CPU} from {name} with handle {instance.handle}"
            about = None if dispatch is None else dispatch.execution
            voice.say("running", f"Running component function on {text}", 20, about)
        self._sessions += not name.startswith("__")
        number = -1 - voice.costs.number(62) if name.startswith("__") else self._sessions
        data = bool(definition.attributes.get(DATA_FUNCTION))
        call = None
        if not data:
            outer = voice.steps[-1].call if voice.steps else None
            call = outer if dispatch is None else dispatch.execution
        voice.steps.append(Step(number, instance, name, call, data, called))
        voice.strands.append(Strand(self._data_thread if data else voice.strand.thread))
        if not instance.ready and name.startswith("__"):
            prepared(voice, instance)

    # -- nodes

    @staticmethod
    def _item(voice: Voice, node: NodeDef) -> _Item:
        step = voice.steps[-1]
        origin = step.instance.origins.get(node.name)
        renamed = node.type.startswith("_Mkl")
        plumbing = node.type in _PLUMBING or node.name == "_SOURCE"
        execution = Execution(
            "graph",
            "plumbing" if plumbing else "op",
            origin or node.type,
            node.type,
            "none" if not renamed else "layout" if origin else "remapper",
            node.name,
            plain_name(step.name),
            step.call,
            step.number,
        )
        item = _Item(node, Strand(WORKER), execution, step.waits(node))
        step.last[node.name] = len(step.items)
        step.items.append(item)
        voice.strands.append(item.strand)
        voice.began(execution)
        return item

    @staticmethod
    def _said(step: Step, node: NodeDef, dead: str = "") -> str:
        lines = step.instance.lines
        number, text = lines.numbers.get(node.name, 0), lines.running.get(node.name, "")
        return f"{number} step {step.number} {text}{dead} device: {node.device or CPU}"

    def node_begins(self, voice: Voice, node: NodeDef) -> None:
        """Its inputs are there."""
        item = self._item(voice, node)
        voice.items.append(item)
        text = f"Process node: {self._said(voice.steps[-1], node)}"
        voice.say("process", text, 10, item.execution, stands=True)

    def node_ends(self, voice: Voice, node: NodeDef, outputs: Sequence[Any]) -> None:
        """Its kernel has run."""
        item, step = voice.items.pop(), voice.steps[-1]
        shapes = [shape_of(each) for each in outputs]
        before = step.outputs.get(node.name)
        step.outputs[node.name] = [
            before[at] if value is DEAD and before else value for at, value in enumerate(outputs)
        ]
        if item.execution.kind == "op":
            inputs = [shape_of(step.value(endpoint)) for endpoint in node.inputs]
            order = step.value(node.inputs[1]) if node.type == "_MklTranspose" else None
            kernel = Kernel(node.type, node.attributes, inputs, shapes, voice.dialect, order)
            self._engine.run(voice, kernel, item.execution)
        if voice.shows("memory") and node.type != "_Retval":
            for index, shape in enumerate(shapes[: len(node.dtypes)]):
                self._engine.output(voice, step.number, node, index, shape)
        kind, says = ("async done", "Async") if node.type in _ASYNC else ("done", "Synchronous")
        self._over(voice, item, kind, f"{says} kernel done: {self._said(step, node)}")

    def node_is_dead(self, voice: Voice, node: NodeDef) -> None:
        """It is in a branch not taken."""
        item, step = self._item(voice, node), voice.steps[-1]
        item.execution.status = "dead"
        text = f"Process node: {self._said(step, node, ' is dead')}"
        voice.say("process", text, 10, item.execution, stands=True)
        text = f"Synchronous kernel done: {self._said(step, node, ' is dead: ')}"
        self._over(voice, item, "done", text)

    def node_fails(self, voice: Voice, node: NodeDef, error: BaseException) -> None:
        """Its kernel raised an error."""
        item, step = voice.items.pop(), voice.steps[-1]
        item.execution.status = "failed"
        text, where = status(error), f"\n\t [[{{{{node {node.name}}}}}]]"
        address = f"0x{0x5600_0000_0000 + 64 * voice.costs.number(30):x}"
        if isinstance(error, OpError):
            voice.say("op failed", f"OP_REQUIRES failed at {node.type.lower()}_op.cc:1 : {text}", 6)
        voice.say("node failed", f"{address} Compute status: {text}{where}", 6, item.execution)
        voice.say("done", f"Synchronous kernel done: {self._said(step, node)}", 4, item.execution)
        self._over(voice, item, "aborting", f"[{CPU}] Executor start aborting: {text}{where}")

    @staticmethod
    def _over(voice: Voice, item: _Item, kind: str, text: str) -> None:
        voice.say(kind, text, 10, item.execution)
        voice.ended(item.execution)
        voice.strands.pop()

    # -- the end

    def end(self, voice: Voice, name: str, error: BaseException | None) -> None:
        """The function has run: its nodes are dealt to threads."""
        step = voice.steps.pop()
        while voice.items and voice.items[-1] in step.items:
            voice.items.pop()  # cut off by an exception that is no error of a kernel
            voice.strands.pop()
        inner = voice.strands.pop()
        inner.now += 10
        inner.now += _deal(step, inner, (self._data_thread,) if step.is_data else self._pool)
        outer = voice.strand
        outer.take(inner, outer.now, inner.thread)
        outer.now += inner.now
        if step.called:
            place = f"Component function execution on target {CPU} from {name} with handle"
            said = "succeeded." if error is None else f"failed: {status(error)}"
            kind = "ran" if error is None else "failed"
            voice.say(kind, f"{place} {step.instance.handle} {said}", 12)


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
    heapq.heapify(ready)
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
