"""The listener: what is heard becomes lines, on the voice of the thread where it happens. An eager op
is wrapped in a function before its first run; one that oneDNN replaces is wrapped twice, and the first
wrapper never runs. See `core/common_runtime/eager/execute.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime.core.dtypes import string
from tflogscope.runtime.core.graph import FunctionDef, NodeDef
from tflogscope.runtime.core.tensors import CPU
from tflogscope.runtime.emitter.records import WORKER, Execution, attributes_of, status, summary
from tflogscope.runtime.emitter.running import Instance, Steps, kernels_made, plain_name
from tflogscope.runtime.emitter.voice import Voice
from tflogscope.runtime.passes import SETTINGS
from tflogscope.runtime.passes.graph import Graph
from tflogscope.runtime.passes.remapper import Report, eager_op, use_onednn


class Emitter(Steps):
    """Writes the log of one process."""

    def constant_made(self, tensor: Any, *, cast: bool) -> None:
        voice = self._here()
        wraps = voice.dialect.wraps_ops
        made = {"Cast": "DstT"} if cast and wraps else {}
        if wraps or tensor.dtype is not string:
            made["_EagerConst"] = "T"
        for op, attribute in made.items():
            self._dispatch(voice, op, [tensor], {attribute: tensor.dtype}, [tensor.dtype])
            self.op_finished(op, [], None)

    def op_dispatched(
        self,
        op: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        outputs: Sequence[Any],
        cached: bool,
    ) -> None:
        voice = self._here()
        if not op.startswith("__"):
            self._dispatch(voice, op, inputs, attributes, outputs)
            return
        execution = Execution("eager", "call", op, op, function=plain_name(op))
        execution.call = execution
        voice.dispatches.append((execution, inputs, attributes))
        voice.say("entering", f"Entering eager executing local operation '{op}'", 20)
        _inputs_said(voice, op, len(inputs))
        if not cached:
            self._by_function(voice, op)

    def _dispatch(
        self, voice: Voice, op: str, inputs: Any, attributes: Mapping[str, Any], outputs: Any
    ) -> None:
        """An op: made first, if it is new, perhaps as another op."""
        new = eager_op(op, attributes) if SETTINGS.onednn else op
        key = (op, repr(sorted(attributes.items())), tuple(each.dtype for each in inputs))
        wraps, first = voice.dialect.wraps_ops, key not in self._kernels
        for each in dict.fromkeys((op, new)):
            _inputs_said(voice, each, len(inputs) if wraps else 0)
            if first:
                self._kernels[key] = self._made(voice, each, inputs, attributes, outputs)
        instance, ran = self._kernels[key]
        rewrite = "eager" if new != op else "wrapped" if ran != new else "none"
        execution = Execution("eager", "op", op, ran, rewrite)
        voice.dispatches.append((execution, inputs, attributes))
        voice.began(execution)
        voice.say("executing", f"Executing op {new} in device {CPU}", 8, execution)
        if instance is not None:
            name = instance.definition.name
            where = f"device {CPU} from {name} with handle {instance.handle}"
            voice.say("running here", f"Running component function on {where}", 8, execution)
            kernels_made(voice, instance.report.nodes if first else ())

    def _by_function(self, voice: Voice, name: str) -> None:
        note = "goo.gle/debugonly   \n" if voice.dialect.absl else ""
        text = f'{note}name: "{name}"\nop: "{name}"\n'
        told = f"Running {name} using multi-device function. Full node_def={text}"
        voice.say("by function", told, 30)

    def _made(
        self, voice: Voice, op: str, inputs: Any, attributes: Mapping[str, Any], outputs: Any
    ) -> tuple[Instance | None, str]:
        """The op's function as it will run, and the op that does; or the kernel itself."""
        if voice.dialect.wraps_ops:
            definition, report = wrapper(op, inputs, attributes, outputs)
            self._by_function(voice, definition.name)
            instance = self._instance(voice, definition, report)
            return instance, definition.nodes[len(inputs)].type
        given = attributes_of(op, attributes, voice.dialect)
        plain = {key: value for key, value in given.items() if not key.startswith("_")}
        text = summary(op, op, plain, ["dummy_input"] * len(inputs), "")
        voice.say("kernel", f"Instantiating kernel for node: {text}", 12)
        return None, op

    def op_finished(self, op: str, outputs: Sequence[Any], error: BaseException | None) -> None:
        voice = self._here()
        execution, inputs, attributes = voice.dispatches.pop()
        execution.status = "done" if error is None else "failed"
        if execution.kind == "call":
            if execution.thread == WORKER:
                self._executing(voice, execution)
            said = f"status code is {'OK' if error is None else status(error)}"
            text = f"Exiting eager executing local operation '{execution.op}', {said}"
            voice.say("exiting", text, 12, execution)
        elif error is None:
            arrays = [[each.value for each in part] for part in (inputs, outputs)]
            self._run(voice, execution, attributes, *arrays)
        if execution.kind == "op" and voice.dialect.wraps_ops:
            said = "succeeded." if error is None else f"failed: {status(error)}"
            kind = "ran here" if error is None else "failed here"
            voice.say(kind, f"Component function execution {said}", 4, execution)
        execution.end = voice.strand.now
        self._flush(voice)

    def tape_followed(self, ops: Sequence[str]) -> None:
        voice = self._here()
        voice.say("tape", "Initial stack:")
        for op in ops:
            voice.say("gradient of", f"Calling gradient function for '{op}'")
        voice.say("gradients", "Final gradients size: 0")
        self._flush(voice)


def _inputs_said(voice: Voice, op: str, count: int) -> None:
    """Where its inputs are."""
    for index in range(count if voice.shows("input") else 0):
        voice.say("input", f"{op}:input:{index} {CPU}")


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
