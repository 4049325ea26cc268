"""Steps in the log: `executor.cc`, and the lines around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.devices import CPU
from tflogscope.runtime.emitter.functions import Instance, Instances, plain_name, prepared
from tflogscope.runtime.emitter.kernels import Engine, shape_of
from tflogscope.runtime.emitter.node_lines import NodeLines
from tflogscope.runtime.emitter.records import WORKER, Execution, Strand
from tflogscope.runtime.emitter.status import status
from tflogscope.runtime.emitter.steps import Item, Step, deal
from tflogscope.runtime.emitter.voice import Dispatch, Events, Voice
from tflogscope.runtime.errors import OpError
from tflogscope.runtime.function.definition import FunctionDef, NodeDef

__all__ = ["Runs"]

_PLUMBING = frozenset({"_Arg", "_Retval", "_Send", "_Recv"})
_SMALL = 64


class Runs:
    """The steps of the process."""

    def __init__(
        self, instances: Instances, engine: Engine, pool: Sequence[int], data_thread: int
    ) -> None:
        self._instances = instances
        self._engine = engine
        self._pool = pool
        self._data_thread = data_thread
        self._sessions = 0

    def say_executing(self, voice: Voice, dispatch: Dispatch) -> None:
        """The call of a function: said when it is ready."""
        dispatch.said = True
        execution = dispatch.execution
        voice.began(execution)
        text = f"Executing op {dispatch.op} in device {CPU}"
        voice.say("executing", text, 12, execution, stands=True)

    def begin(
        self,
        voice: Voice,
        name: str,
        definition: FunctionDef,
        instance: Instance | None,
        dispatch: Dispatch | None,
    ) -> None:
        """A step begins: called eagerly, by a dataset, or by a node."""
        by_node = bool(voice.items) and voice.items[-1].node.type in _CALLS
        if dispatch is not None and not dispatch.said:
            self.say_executing(voice, dispatch)
        if dispatch is not None or by_node:
            handle = instance.handle if instance else 0
            voice.say(
                "running",
                f"Running component function on device {CPU} from {name} with handle {handle}",
                20,
                dispatch.execution if dispatch is not None else None,
            )
        if instance is None:
            lines = NodeLines(definition, voice.dialect)
            instance = Instance("", 0, lines, {}, Events(), definition, ready=True)
        number = self._number(voice, name)
        data = bool(definition.attributes.get("_tf_data_function"))
        call = None if data else dispatch.execution if dispatch else self._call_of(voice)
        step = Step(number, instance, name, call, data)
        voice.steps.append(step)
        voice.strands.append(Strand(self._data_thread if data else voice.strand.thread))
        if not instance.ready and name.startswith("__"):
            prepared(voice, instance)

    def _number(self, voice: Voice, name: str) -> int:
        """Steps of functions have negative numbers by chance; a session counts its own."""
        if name.startswith("__"):
            return -(1 + voice.costs.number(62))
        self._sessions += 1
        return self._sessions

    @staticmethod
    def _call_of(voice: Voice) -> Execution | None:
        return voice.steps[-1].call if voice.steps else None

    # -- nodes -----------------------------------------------------------------------------------

    @staticmethod
    def _item(voice: Voice, node: NodeDef) -> Item:
        step = voice.steps[-1]
        origin = step.instance.origins.get(node.name)
        rewrite = "none"
        if node.type.startswith("_Mkl"):
            rewrite = "layout" if origin else "remapper"
        plumbing = node.type in _PLUMBING or node.name == "_SOURCE"
        execution = Execution(
            "graph",
            "plumbing" if plumbing else "op",
            origin or node.type,
            node.type,
            rewrite,
            node.name,
            plain_name(step.name),
            step.call,
            step.number,
        )
        item = Item(node, Strand(WORKER), execution, step.waits(node))
        step.last[node.name] = len(step.items)
        step.items.append(item)
        return item

    @staticmethod
    def _said(step: Step, node: NodeDef, dead: str = "") -> str:
        lines = step.instance.lines
        number = lines.numbers.get(node.name, 0)
        text = lines.running.get(node.name) or lines.texts.get(node.name, "")
        return f"{number} step {step.number} {text}{dead} device: {node.device or CPU}"

    def node_begins(self, voice: Voice, node: NodeDef) -> None:
        """A node's kernel begins."""
        item = self._item(voice, node)
        voice.items.append(item)
        voice.strands.append(item.strand)
        voice.began(item.execution)
        text = f"Process node: {self._said(voice.steps[-1], node)}"
        voice.say("process", text, 10, item.execution, stands=True)

    def node_ends(self, voice: Voice, node: NodeDef, outputs: Sequence[Any]) -> None:
        """It has run."""
        item = voice.items.pop()
        step = voice.steps[-1]
        shapes = [shape_of(each) for each in outputs]
        step.knows(node.name, outputs, shapes)
        for index, value in enumerate(outputs):
            if isinstance(value, np.ndarray) and value.size <= _SMALL and value.dtype.kind == "i":
                step.values[node.name, index] = value
        if item.execution.kind == "op":
            inputs = [_output(step.outputs, name, index) for name, index in node.inputs]
            self._engine.run(
                voice,
                node.type,
                node.attributes,
                inputs,
                shapes,
                item.execution,
                _settings(step, node),
            )
        if voice.shows("memory") and node.type != "_Retval":
            for index, (dtype, shape) in enumerate(zip(node.dtypes, shapes, strict=False)):
                self._engine.output(voice, step.number, node.name, index, dtype, shape)
        kind = "async done" if node.op.type in _ASYNC else "done"
        says = "Async" if kind == "async done" else "Synchronous"
        voice.say(kind, f"{says} kernel done: {self._said(step, node)}", 10, item.execution)
        voice.ended(item.execution)
        voice.strands.pop()

    def node_is_dead(self, voice: Voice, node: NodeDef) -> None:
        """It is in a branch not taken."""
        item = self._item(voice, node)
        step = voice.steps[-1]
        item.execution.status = "dead"
        voice.strands.append(item.strand)
        voice.began(item.execution)
        text = f"Process node: {self._said(step, node, ' is dead')}"
        voice.say("process", text, 10, item.execution, stands=True)
        text = f"Synchronous kernel done: {self._said(step, node, ' is dead: ')}"
        voice.say("done", text, 10, item.execution)
        voice.ended(item.execution)
        voice.strands.pop()

    def node_fails(self, voice: Voice, node: NodeDef, error: BaseException) -> None:
        """Its kernel failed."""
        item = voice.items.pop()
        step = voice.steps[-1]
        item.execution.status = "failed"
        text = status(error)
        address = f"0x{0x5600_0000_0000 + 64 * voice.costs.number(30):x}"
        where = f"\n\t [[{{{{node {node.name}}}}}]]"
        if isinstance(error, OpError):
            voice.say("op failed", f"OP_REQUIRES failed at {node.type.lower()}_op.cc:1 : {text}", 6)
        voice.say("node failed", f"{address} Compute status: {text}{where}", 6, item.execution)
        voice.say("done", f"Synchronous kernel done: {self._said(step, node)}", 4, item.execution)
        voice.say("aborting", f"[{CPU}] Executor start aborting: {text}{where}", 4)
        voice.ended(item.execution)
        voice.strands.pop()

    # -- the end ---------------------------------------------------------------------------------

    def end(self, voice: Voice, name: str, error: BaseException | None) -> None:
        """The step has ended: its nodes are dealt out to threads, and put where it ran."""
        step = voice.steps.pop()
        while voice.items and voice.items[-1] in step.items:
            voice.items.pop()  # cut off by an exception that is no error of a kernel
            voice.strands.pop()
        inner = voice.strands.pop()
        inner.now += 10
        threads = (self._data_thread,) if step.data else self._pool
        inner.now += deal(step, inner, inner.now, threads)
        outer = voice.strand
        outer.take(inner, outer.now, inner.thread)
        outer.now += inner.now
        dispatch = voice.dispatches[-1] if voice.dispatches else None
        by_node = bool(voice.items) and voice.items[-1].node.type in _CALLS
        called = (
            dispatch is not None
            and step.call is dispatch.execution
            and not voice.steps_inside(dispatch)
        )
        if by_node or called:
            self._ended(voice, name, step, error)

    @staticmethod
    def _ended(voice: Voice, name: str, step: Step, error: BaseException | None) -> None:
        place = f"Component function execution on target {CPU} from {name} with handle"
        if error is None:
            voice.say("ran", f"{place} {step.instance.handle} succeeded.", 12)
        else:
            voice.say("failed", f"{place} {step.instance.handle} failed: {status(error)}", 12)


_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_ASYNC = frozenset({"IteratorGetNext", "_Recv"})


def _output(outputs: dict[str, list[Any]], name: str, index: int) -> tuple[int, ...]:
    shapes = outputs.get(name)
    return shapes[index] if shapes is not None and index < len(shapes) else ()


def _settings(step: Step, node: NodeDef) -> dict[str, Any]:
    """What of the values of its inputs says how a kernel runs."""
    if node.type == "_MklTranspose" and node.inputs[1] in step.values:
        return {"permutation": [int(each) for each in step.values[node.inputs[1]]]}
    if "PadWith" in node.type:
        return {"paddings": step.values.get(node.inputs[-1])}
    if node.type.endswith("FusedMatMul"):
        return {"overwrites": [each in step.instance.given_up for each in node.inputs]}
    return {}
