"""The one who listens to the runtime and writes TensorFlow's log of it.

Told about: the C++ files that `sites.py` names; in which order their lines come is written here,
in `eager.py` and in `functions.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.runtime.devices import CPU
from tflogscope.runtime.dtypes import string
from tflogscope.runtime.emitter import eager
from tflogscope.runtime.emitter.costs import Costs
from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.emitter.functions import (
    Instance,
    Instances,
    plain_name,
    say_constants,
)
from tflogscope.runtime.emitter.hearsay import Hearsay
from tflogscope.runtime.emitter.kernels import Engine, shape_of
from tflogscope.runtime.emitter.output import Output
from tflogscope.runtime.emitter.prefixes import Prefixes
from tflogscope.runtime.emitter.records import Execution
from tflogscope.runtime.emitter.running import Runs
from tflogscope.runtime.emitter.status import status
from tflogscope.runtime.emitter.voice import Dispatch, Events, Voice
from tflogscope.runtime.emitter.voices import Voices
from tflogscope.runtime.function.definition import FunctionDef
from tflogscope.runtime.passes.eager_ops import wrapper_name
from tflogscope.runtime.passes.onednn import KERNELS, onednn_name

if TYPE_CHECKING:
    from tflogscope.runtime.function.definition import NodeDef
    from tflogscope.runtime.tensors import EagerTensor, Tensor

__all__ = ["Emitter"]


class Emitter(Hearsay):
    """Hears what happens, in all threads of the program, and says it as TensorFlow would."""

    def __init__(
        self,
        output: Output,
        dialect: Dialect,
        prefixes: Prefixes,
        *,
        seed: int = 0,
        threads: int = 2,
        onednn: bool = True,
        verbose: bool = True,
    ) -> None:
        self._dialect = dialect
        self._prefixes = prefixes
        self._costs = Costs(seed)
        self._onednn = onednn
        self._engine = Engine(threads, verbose=verbose)
        self._instances = Instances(onednn)
        pid = 4000 + self._costs.number(12)
        pool = tuple(pid + 10 + each for each in range(threads))
        self._runs = Runs(self._instances, self._engine, pool, pid + 90)
        self._kernels: dict[Any, tuple[int, str]] = {}
        """By eager kernel: the handle of its function, the op that runs in it."""
        self._originals = {onednn_name(op): op for op in KERNELS}
        """By the op of the eager rewrite registry, the op that was called."""
        self._voices = Voices(output, dialect, prefixes, self._costs, pid)
        self._here = self._voices.here
        self._flush = self._voices.flush
        self._begin()

    def _begin(self) -> None:
        voice = self._voices.main
        if self._onednn:
            voice.say(
                "onednn on",
                "oneDNN custom operations are on. You may see slightly different numerical "
                "results due to floating-point round-off errors from different computation "
                "orders. To turn them off, set the environment variable "
                "`TF_ENABLE_ONEDNN_OPTS=0`.",
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

    def printed(self, text: str) -> None:
        """The program wrote something to its standard streams."""
        self._voices.printed(text)

    def before_fork(self) -> None:
        """The program is about to fork."""
        self._voices.before_fork()

    def after_fork(self) -> None:
        """This is the new process."""
        self._voices.after_fork()

    def sleep(self, seconds: float) -> None:
        """A thread of the program sleeps."""
        self._voices.sleep(seconds)

    def close(self) -> None:
        """The process ends: what is left is written."""
        self._voices.close()

    # -- eager ops -------------------------------------------------------------------------------

    def constant_made(self, tensor: EagerTensor, *, cast: bool) -> None:
        """A value is handed to the runtime: an op `_EagerConst`."""
        voice = self._here()
        self._settle(voice)
        if cast and self._dialect.wraps_ops:
            self._small_op(voice, "Cast", tensor)
        if tensor.dtype is not string or self._dialect.wraps_ops:
            self._small_op(voice, "_EagerConst", tensor)
        self._flush(voice)

    def _small_op(self, voice: Voice, op: str, tensor: EagerTensor) -> None:
        """An op that the runtime does without."""
        key = (op, tensor.dtype)
        cached = key in self._kernels
        attributes = {"T": tensor.dtype} if op == "_EagerConst" else {"DstT": tensor.dtype}
        execution = Execution("eager", "op", op, op)
        if not cached:
            handle = -1
            if self._dialect.wraps_ops:
                function = FunctionDef(wrapper_name(op), (), (), (), ())
                handle = eager.wrapper_made(
                    voice,
                    self._instances,
                    op,
                    (tensor,),
                    attributes,
                    function,
                    Events(),
                    rewritten=False,
                )
            else:
                eager.kernel_made(voice, op, (tensor,), attributes, rewritten=False)
            self._kernels[key] = (handle, op)
        elif self._dialect.wraps_ops:
            eager.inputs_said(voice, op, 1)
        voice.began(execution)
        voice.say("executing", f"Executing op {op} in device {CPU}", 8, execution, stands=True)
        if self._dialect.wraps_ops:
            name, handle = wrapper_name(op), self._kernels[key][0]
            self._runs_here(voice, name, handle, execution)
            if not cached:
                text = f"{{{{node {op}}}}} = {op}[T=DT_FLOAT](input)"
                voice.say("kernel", f"Instantiating kernel for node: {text}")
            voice.say("ran here", "Component function execution succeeded.", 8, execution)
        voice.ended(execution)

    @staticmethod
    def _runs_here(voice: Voice, name: str, handle: int, execution: Execution) -> None:
        voice.say(
            "running here",
            f"Running component function on device {CPU} from {name} with handle {handle}",
            8,
            execution,
        )

    def kernel_created(self, node: Any, device: str) -> None:
        """Of an eager op: said when the function around it first runs."""
        del device
        self._here().kernels.append(node)

    def op_dispatched(
        self,
        op: str,
        inputs: Sequence[Tensor],
        attributes: Mapping[str, Any],
        device: str,
        cached: bool,
    ) -> None:
        """An eager op, or a function that is called."""
        del device
        voice = self._here()
        self._settle(voice, keep_wrappers=True)
        if op.startswith("__"):
            self._call(voice, op, inputs, attributes, cached=cached)
        else:
            self._dispatch(voice, op, inputs, attributes, cached=cached)

    def _call(
        self,
        voice: Voice,
        name: str,
        inputs: Sequence[Tensor],
        attributes: Mapping[str, Any],
        *,
        cached: bool,
    ) -> None:
        execution = Execution("eager", "call", name, name, function=plain_name(name))
        dispatch = Dispatch(name, execution, inputs, attributes, cached, is_function=True)
        voice.dispatches.append(dispatch)
        execution.call = execution
        eager.call_begins(voice, name, len(inputs), cached=cached)

    def _dispatch(
        self,
        voice: Voice,
        op: str,
        inputs: Sequence[Tensor],
        attributes: Mapping[str, Any],
        *,
        cached: bool,
    ) -> None:
        original = self._originals.get(op, op) if op.startswith("_Mkl") else op
        key = (op, _key(attributes), tuple(each.dtype for each in inputs))
        wrappers, voice.wrappers = voice.wrappers, []
        kernels, voice.kernels = voice.kernels, []
        known = self._kernels.get(key)
        if known is None and cached:  # another thread has made it, and is about to say so
            known = self._awaited(key)
        if known is None:
            known = self._first(voice, original, op, inputs, attributes, wrappers)
            self._kernels[key] = known
        else:
            kernels = []
            if self._dialect.wraps_ops:
                if original != op:
                    eager.inputs_said(voice, original, len(inputs))
                eager.inputs_said(voice, op, len(inputs))
        handle, ran = known
        rewrite = "eager" if original != op else "wrapped" if ran != op else "none"
        execution = Execution("eager", "op", original, ran, rewrite)
        dispatch = Dispatch(
            op, execution, inputs, attributes, cached, False, handle, ran, said=True
        )
        voice.dispatches.append(dispatch)
        voice.began(execution)
        voice.say("executing", f"Executing op {op} in device {CPU}", 8, execution, stands=True)
        if self._dialect.wraps_ops:
            self._runs_here(voice, wrapper_name(op), handle, execution)
            for node in kernels:
                text = eager.wrapped_node(voice, node, ran if node.name == op else node.type)
                voice.say("kernel", f"Instantiating kernel for node: {text}", 12)

    def _awaited(self, key: Any) -> tuple[int, str] | None:
        """What another thread says of that kernel; None if it doesn't."""
        for _ in range(200):
            if key in self._kernels:
                return self._kernels[key]
            self._voices.pause()
        return None

    def _first(
        self,
        voice: Voice,
        original: str,
        op: str,
        inputs: Sequence[Tensor],
        attributes: Mapping[str, Any],
        wrappers: list[tuple[Any, Events]],
    ) -> tuple[int, str]:
        """The first run of a kernel; its handle, and the op that will really run."""
        handle, ran = -1, op
        if not self._dialect.wraps_ops:
            eager.kernel_made(voice, original, inputs, attributes, rewritten=False)
            if op != original:
                eager.kernel_made(voice, op, inputs, attributes, rewritten=True)
            return handle, ran
        if not wrappers:
            ops = dict.fromkeys((original, op))
            wrappers = [(FunctionDef(wrapper_name(each), (), (), (), ()), Events()) for each in ops]
        for at, (function, events) in enumerate(wrappers):
            rewritten = at > 0
            shown = op if rewritten else original
            handle = eager.wrapper_made(
                voice,
                self._instances,
                shown,
                inputs,
                attributes,
                function,
                events,
                rewritten=rewritten,
            )
            ran = next((new for _, _, new, _ in events.rewritten), op)
        return handle, ran

    def op_finished(self, op: str, outputs: Sequence[Tensor], error: BaseException | None) -> None:
        """It has run."""
        voice = self._here()
        if not voice.dispatches or voice.dispatches[-1].op != op:
            return
        dispatch = voice.dispatches.pop()
        execution = dispatch.execution
        if error is not None:
            execution.status = "failed"
        if dispatch.is_function:
            self._returned(voice, dispatch, error)
        else:
            if error is None:
                self._engine.run(
                    voice,
                    dispatch.kernel_op,
                    dispatch.attributes,
                    [shape_of(each) for each in dispatch.inputs],
                    [shape_of(each) for each in outputs],
                    execution,
                    _settings(op, [getattr(each, "value", None) for each in dispatch.inputs]),
                )
                if self._dialect.wraps_ops:
                    voice.say("ran here", "Component function execution succeeded.", 4, execution)
            elif self._dialect.wraps_ops:
                text = f"Component function execution failed: {status(error)}"
                voice.say("failed here", text, 4, execution)
            voice.ended(execution)
        self._flush(voice)

    def _returned(self, voice: Voice, dispatch: Dispatch, error: BaseException | None) -> None:
        execution = dispatch.execution
        if not dispatch.said:
            self._runs.say_executing(voice, dispatch)
        said = status(error) if error is not None else "OK"
        voice.say(
            "exiting",
            f"Exiting eager executing local operation '{dispatch.op}', status code is {said}",
            12,
            execution,
        )
        voice.ended(execution)

    # -- functions -------------------------------------------------------------------------------

    def function_instantiated(self, name: str, function: Any) -> None:
        """A function is ready; one around an eager op is said when that is dispatched."""
        voice = self._here()
        events, voice.events = voice.events, Events()
        if name.startswith("__wrapped__"):
            voice.wrappers.append((function, events))
        else:
            self._instances.make(voice, name, function, events)

    def _settle(self, voice: Voice, *, keep_wrappers: bool = False) -> None:
        """Say what was kept for a function that is not there: constants computed while tracing."""
        if voice.events.runs and not voice.events.optimizers:
            events, voice.events = voice.events, Events()
            say_constants(voice, events)
        if not keep_wrappers:
            voice.wrappers = []

    def function_called(self, name: str, step: int, function: Any) -> None:
        """The executor starts on a graph."""
        del step
        voice = self._here()
        dispatch = voice.dispatches[-1] if voice.dispatches else None
        instance: Instance | None = self._instances.of(function)
        called = dispatch is not None and dispatch.op == name and not voice.steps_inside(dispatch)
        self._runs.begin(voice, name, function, instance, dispatch if called else None)

    def function_launched(self, name: str, function: Any, *, cached: bool) -> None:
        """A compiled function: the log has its call and no node."""
        del name, function, cached
        voice = self._here()
        if voice.dispatches and not voice.dispatches[-1].said:
            self._runs.say_executing(voice, voice.dispatches[-1])

    def function_returned(self, name: str, step: int, error: BaseException | None) -> None:
        """All nodes have run: now it is known which ran when."""
        del step
        voice = self._here()
        self._runs.end(voice, name, error)
        self._flush(voice)

    def node_started(self, step: int, node: NodeDef) -> None:
        """A node's kernel begins; what it says goes to a strand of its own."""
        if step != -1:
            self._runs.node_begins(self._here(), node)

    def node_done(self, step: int, node: NodeDef, outputs: Sequence[Any]) -> None:
        """It has run."""
        if step != -1:
            self._runs.node_ends(self._here(), node, outputs)

    def node_dead(self, step: int, node: NodeDef) -> None:
        """It is in a branch not taken."""
        if step != -1:
            self._runs.node_is_dead(self._here(), node)

    def node_failed(self, step: int, node: NodeDef, error: BaseException) -> None:
        """Its kernel failed."""
        if step != -1:
            self._runs.node_fails(self._here(), node, error)


def _key(attributes: Mapping[str, Any]) -> Any:
    return tuple((key, repr(value)) for key, value in attributes.items())


def _settings(op: str, values: Sequence[Any]) -> dict[str, Any]:
    """What of the values of its inputs says how a kernel runs."""
    if op.endswith("Transpose") and len(values) > 1 and values[1] is not None:
        return {"permutation": [int(each) for each in values[1]]}
    return {}
