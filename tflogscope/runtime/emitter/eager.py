"""An eager op in the log: `execute.cc`.

Before its first run an op is wrapped in a function of one node, which is made ready like any other;
if the eager rewrite registry has another op for it, that one is wrapped too, and runs. Later runs
are three lines. NB: before 2.10 a kernel was created and run directly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime.devices import CPU
from tflogscope.runtime.dtypes import resource
from tflogscope.runtime.emitter.functions import Instances
from tflogscope.runtime.emitter.node_lines import attributes_of, summary
from tflogscope.runtime.emitter.voice import Events, Voice
from tflogscope.runtime.function.definition import FunctionDef, NodeDef
from tflogscope.runtime.node_text import type_name
from tflogscope.runtime.ops.declare import signature_of

__all__ = ["call_begins", "inputs_said", "kernel_made", "wrapper_made"]

_TASK = CPU.rpartition("/")[0]


def inputs_said(voice: Voice, op: str, count: int) -> None:
    """Where the inputs are: said at every dispatch."""
    if voice.shows("input"):
        for index in range(count):
            voice.say("input", f"{op}:input:{index} {CPU}")


def _placed(voice: Voice, op: str, inputs: Sequence[Any], *, rewritten: bool) -> None:
    if inputs and getattr(inputs[0], "dtype", None) is resource:
        return  # it goes where the resource is
    voice.say("preferred device", f"PreferredDevice {op}: {CPU if rewritten else _TASK}")
    voice.say("placed op", f"Placer place op [{op}] on device: {CPU}")


def wrapper_made(
    voice: Voice,
    instances: Instances,
    op: str,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    function: FunctionDef,
    events: Events,
    *,
    rewritten: bool,
) -> int:
    """The function around an op, before its first run; its handle."""
    _placed(voice, op, inputs, rewritten=rewritten)
    inputs_said(voice, op, len(inputs))
    voice.say("new kernel", f"Creating new kernel for {op} on device {CPU}")
    voice.say("device set", f"Device for [{op}] already set to: {CPU}")
    off = voice.dialect.false
    voice.say("outputs on device", f"{op} function_outputs_on_op_device: {off}")
    note = "goo.gle/debugonly   \n" if voice.dialect.redacted else ""
    if voice.shows("wrapper"):
        voice.say("wrapper", note + _signature(function.name, op, len(inputs)), 40)
    if voice.shows("by function"):
        text = _call_text(function.name, len(inputs), attributes)
        voice.say(
            "by function",
            f"Running {function.name} using multi-device function. Full node_def={note}{text}",
            30,
        )
    handle = instances.make(voice, function.name, function, events).handle
    voice.say("caching", f"Caching op {function.name}")
    return handle


def _signature(name: str, op: str, count: int) -> str:
    """The `FunctionDef`, shortened to what names the op. NB: TensorFlow prints all of it."""
    known = signature_of(op)
    names = [argument.name for argument in known.inputs] if known else []
    names = names if len(names) == count else [f"input_{index}" for index in range(count)]
    arguments = "".join(f'  input_arg {{\n    name: "{each}"\n  }}\n' for each in names)
    inputs = "".join(f'  input: "{each}:0"\n' for each in names)
    return (
        f'signature {{\n  name: "{name}"\n{arguments}}}\nnode_def {{\n  name: "{op}"\n'
        f'  op: "{op}"\n{inputs}  device: "{CPU}"\n}}\n'
    )


def _call_text(name: str, count: int, attributes: Mapping[str, Any]) -> str:
    """The `NodeDef` of the call."""
    parts = [f'name: "{name}"\nop: "{name}"\n', 'input: "dummy_input"\n' * count]
    for key in sorted(attributes):
        value = attributes[key]
        if isinstance(value, bool):
            shown = f"b: {str(value).lower()}"
        elif hasattr(value, "is_array"):
            shown = f"type: {type_name(value)}"
        else:
            continue
        parts.append(f'attr {{\n  key: "{key}"\n  value {{\n    {shown}\n  }}\n}}\n')
    return "".join(parts)


def kernel_made(
    voice: Voice,
    op: str,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    *,
    rewritten: bool,
) -> None:
    """Before 2.10: a kernel is created for an op."""
    voice.say("new kernel", f"Creating new kernel for {op} on device <unspecified>")
    voice.say("outputs on device", f"{op} function_outputs_on_op_device: 0")
    _placed(voice, op, inputs, rewritten=rewritten)
    if voice.shows("by kernel"):
        text = _call_text(op, len(inputs), attributes)
        voice.say("by kernel", f"Running {op} using op kernel. . Full node_def={text}", 20)
    plain = {key: value for key, value in attributes.items() if not key.startswith("_")}
    if rewritten:
        plain["_kernel"] = "MklNameChangeOp"
    text = summary(op, op, plain, ["dummy_input"] * len(inputs), "", marked=False)
    voice.say("kernel", f"Instantiating kernel for node: {text}", 12)


def call_begins(voice: Voice, name: str, count: int, *, cached: bool) -> None:
    """A function is called."""
    voice.say("entering", f"Entering eager executing local operation '{name}'", 20)
    inputs_said(voice, name, count)
    if cached:
        return
    off = voice.dialect.false
    voice.say("new kernel", f"Creating new kernel for {name} on device <unspecified>")
    voice.say("preferred device", f"PreferredDevice {name}: {_TASK}")
    voice.say("placed op", f"Placer place op [{name}] on device: {CPU}")
    voice.say("compilation device", "Compilation Device Type: CPU")
    voice.say("outputs on device", f"{name} function_outputs_on_op_device: {off}")
    if voice.shows("by function"):
        note = "goo.gle/debugonly   \n" if voice.dialect.redacted else ""
        text = _call_text(name, count, {})
        voice.say(
            "by function",
            f"Running {name} using multi-device function. Full node_def={note}{text}",
            30,
        )


def wrapped_node(voice: Voice, node: NodeDef, op: str) -> str:
    """The node in the function around an op, as its kernel is created."""
    known = signature_of(node.name)
    names = [argument.name for argument in known.inputs] if known else []
    if len(names) != len(node.inputs):
        names = [name for name, _ in node.inputs]
    attributes = attributes_of(node.type, node.attributes, voice.dialect)
    return summary(node.name, op, attributes, names)
