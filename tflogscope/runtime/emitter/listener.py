"""The listener: what is heard becomes lines, on the voice of the thread where it happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime.core.definition import FunctionDef, NodeDef
from tflogscope.runtime.core.dtypes import string
from tflogscope.runtime.core.telling import Listener
from tflogscope.runtime.core.tensors import CPU
from tflogscope.runtime.emitter import eager
from tflogscope.runtime.emitter.costs import Costs
from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.emitter.functions import Instance, Instances, plain_name
from tflogscope.runtime.emitter.output import Output, Prefixes
from tflogscope.runtime.emitter.primitives import Kernel
from tflogscope.runtime.emitter.records import Execution
from tflogscope.runtime.emitter.running import Engine, Runs, shape_of
from tflogscope.runtime.emitter.text import status
from tflogscope.runtime.emitter.voice import Dispatch, Voice, Voices
from tflogscope.runtime.passes import SETTINGS
from tflogscope.runtime.passes.onednn import eager_op
from tflogscope.runtime.passes.report import Report


class Emitter(Listener):
    """Writes the log of one process."""

    def __init__(
        self,
        output: Output,
        dialect: Dialect,
        prefixes: Prefixes,
        *,
        seed: int = 0,
        threads: int = 2,
        verbose: bool = True,
    ) -> None:
        costs = Costs(seed)
        pid = 4000 + costs.number(12)
        self._dialect = dialect
        self._engine = Engine(threads, verbose=verbose)
        self._instances = Instances()
        self._runs = Runs(self._engine, [pid + 10 + each for each in range(threads)], pid + 90)
        self._kernels: dict[Any, tuple[Instance | None, str]] = {}
        self._voices = Voices(output, dialect, prefixes, costs, pid)
        self._here, self._flush = self._voices.here, self._voices.flush
        self.printed, self.sleep = self._voices.printed, self._voices.sleep
        self.close = self._voices.close
        voice = self._voices.main
        if SETTINGS.onednn:
            voice.say(
                "onednn on",
                "oneDNN custom operations are on. You may see slightly different numerical results "
                "due to floating-point round-off errors from different computation orders. To turn "
                "them off, set the environment variable `TF_ENABLE_ONEDNN_OPTS=0`.",
            )
        voice.say(
            "cpu features",
            "This TensorFlow binary is optimized to use available CPU instructions in "
            "performance-critical operations.\nTo enable the following instructions: AVX2 AVX512F "
            "AVX512_VNNI AVX512_BF16 FMA, in other operations, rebuild TensorFlow with the "
            "appropriate compiler flags.",
            40_000,
        )
        voice.strand.now += 1_000_000

    # -- eager ops

    def constant_made(self, tensor: Any, *, cast: bool) -> None:
        voice = self._here()
        if cast and self._dialect.wraps_ops:
            self._run_eagerly(voice, "Cast", [tensor], {"DstT": tensor.dtype}, [tensor.dtype], None)
        if tensor.dtype is not string or self._dialect.wraps_ops:
            given = ([tensor], {"T": tensor.dtype}, [tensor.dtype], None)
            self._run_eagerly(voice, "_EagerConst", *given)
        self._flush(voice)

    def _run_eagerly(self, voice: Voice, op: str, *given: Any) -> None:
        self._dispatch(voice, op, *given)
        self._finish(voice, voice.dispatches.pop(), [], None)

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
            self._dispatch(voice, op, inputs, attributes, outputs, cached)
            return
        execution = Execution("eager", "call", op, op, function=plain_name(op))
        execution.call = execution
        voice.dispatches.append(Dispatch(op, execution, inputs, attributes, is_function=True))
        eager.call_begins(voice, op, len(inputs), cached=cached)

    def _dispatch(
        self, voice: Voice, op: str, inputs: Any, attributes: Any, outputs: Any, cached: Any
    ) -> None:
        """An op: made first, if it is new, perhaps as another op."""
        del cached  # another thread may be making it
        new = eager_op(op, attributes) if SETTINGS.onednn else op
        key = (op, repr(sorted(attributes.items())), tuple(each.dtype for each in inputs))
        wraps, first = self._dialect.wraps_ops, key not in self._kernels
        for each in dict.fromkeys((op, new)):
            changed = each != op
            if not first:
                eager.inputs_said(voice, each, len(inputs) if wraps else 0)
            elif wraps:
                given = (voice, self._instances, each, inputs, attributes, outputs)
                self._kernels[key] = eager.wrapper_made(*given, rewritten=changed)
            else:
                eager.kernel_made(voice, each, inputs, attributes, rewritten=changed)
                self._kernels[key] = None, each
        instance, ran = self._kernels[key]
        rewrite = "eager" if new != op else "wrapped" if ran != new else "none"
        execution = Execution("eager", "op", op, ran, rewrite)
        dispatch = Dispatch(op, execution, inputs, attributes, ran, said=True)
        voice.dispatches.append(dispatch)
        voice.began(execution)
        voice.say("executing", f"Executing op {new} in device {CPU}", 8, execution, stands=True)
        if instance is not None:
            where = f"device {CPU} from {eager.wrapper_name(new)} with handle {instance.handle}"
            voice.say("running here", f"Running component function on {where}", 8, execution)
            for node in instance.report.nodes if first else ():
                shown = ran if node.name == new else node.type
                text = eager.kernel_text(voice, node, shown)
                voice.say("kernel", f"Instantiating kernel for node: {text}", 12)

    def op_finished(self, op: str, outputs: Sequence[Any], error: BaseException | None) -> None:
        voice = self._here()
        dispatch = voice.dispatches.pop()
        if not dispatch.is_function:
            self._finish(voice, dispatch, outputs, error)
        else:
            if not dispatch.said:
                self._runs.say_executing(voice, dispatch)
            said = "OK" if error is None else status(error)
            dispatch.execution.status = "done" if error is None else "failed"
            text = f"Exiting eager executing local operation '{op}', status code is {said}"
            voice.say("exiting", text, 12, dispatch.execution)
            voice.ended(dispatch.execution)
        self._flush(voice)

    def _finish(self, voice: Voice, dispatch: Dispatch, outputs: Sequence[Any], error: Any) -> None:
        execution, wraps = dispatch.execution, self._dialect.wraps_ops
        if error is None:
            inputs, results = ([shape_of(e) for e in part] for part in (dispatch.inputs, outputs))
            settings: dict[str, Any] = {}
            if dispatch.op == "Transpose":
                settings = {"permutation": [int(each) for each in dispatch.inputs[1].value]}
            kernel = Kernel(
                dispatch.kernel_op, dispatch.attributes, inputs, results, self._dialect, settings
            )
            self._engine.run(voice, kernel, execution)
            if wraps:
                voice.say("ran here", "Component function execution succeeded.", 4, execution)
        else:
            execution.status = "failed"
            if wraps:
                text = f"Component function execution failed: {status(error)}"
                voice.say("failed here", text, 4, execution)
        voice.ended(execution)

    def tape_followed(self, ops: Sequence[str]) -> None:
        voice = self._here()
        voice.say("tape", "Initial stack:")
        for op in ops:
            voice.say("gradient of", f"Calling gradient function for '{op}'")
        voice.say("gradients", "Final gradients size: 0")
        self._flush(voice)

    # -- functions

    def function_instantiated(self, definition: FunctionDef, report: Report) -> None:
        self._instances.make(self._here(), definition.name, definition, report)

    def function_called(self, step: int, definition: FunctionDef) -> None:
        voice = self._here()
        dispatch = voice.dispatches[-1] if voice.dispatches else None
        called = dispatch is not None and dispatch.op == definition.name
        if dispatch is not None and called and voice.steps_inside(dispatch):
            called = False
        instance = self._instances.of(definition)
        if instance is None:  # it was made ready before anybody listened
            report = Report()
            report.nodes = [item.node for item in definition.plan.items]
            instance = self._instances.make(voice, definition.name, definition, report)
        self._runs.begin(voice, definition, instance, dispatch if called else None)

    def function_returned(
        self, step: int, definition: FunctionDef, error: BaseException | None
    ) -> None:
        voice = self._here()
        self._runs.end(voice, definition.name, error)
        self._flush(voice)

    def node_started(self, step: int, node: NodeDef) -> None:
        self._runs.node_begins(self._here(), node)

    def node_done(self, step: int, node: NodeDef, outputs: Sequence[Any]) -> None:
        self._runs.node_ends(self._here(), node, outputs)

    def node_dead(self, step: int, node: NodeDef) -> None:
        self._runs.node_is_dead(self._here(), node)

    def node_failed(self, step: int, node: NodeDef, error: BaseException) -> None:
        self._runs.node_fails(self._here(), node, error)
