"""The lines around an eager op: where it goes, the function of one node that it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime.core.definition import FunctionDef, NodeDef
from tflogscope.runtime.core.dtypes import resource
from tflogscope.runtime.core.registry import lookup, registered
from tflogscope.runtime.core.tensors import CPU
from tflogscope.runtime.emitter.functions import Instance, Instances
from tflogscope.runtime.emitter.text import attributes_of, summary, type_name
from tflogscope.runtime.emitter.voice import Voice
from tflogscope.runtime.passes import SETTINGS
from tflogscope.runtime.passes.graph import Graph
from tflogscope.runtime.passes.onednn import use_onednn
from tflogscope.runtime.passes.report import Report

_TASK = CPU.rpartition("/")[0]


def wrapper_name(op: str) -> str:
    """The function that an eager op becomes."""
    return f"__wrapped__{op.replace('_', '__')}_device_{CPU}"


def inputs_said(voice: Voice, op: str, count: int) -> None:
    """Where its inputs are."""
    if voice.shows("input"):
        for index in range(count):
            voice.say("input", f"{op}:input:{index} {CPU}")


def _placed(voice: Voice, op: str, inputs: Sequence[Any], *, rewritten: bool) -> None:
    if not inputs or inputs[0].dtype is not resource:  # else it goes where the resource is
        voice.say("preferred device", f"PreferredDevice {op}: {CPU if rewritten else _TASK}")
        voice.say("placed op", f"Placer place op [{op}] on device: {CPU}")


def wrapper_made(
    voice: Voice,
    instances: Instances,
    op: str,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    outputs: Sequence[Any],
    *,
    rewritten: bool,
) -> tuple[Instance, str]:
    """The op's function is made; the function as it will run, and the op that does."""
    name, count = wrapper_name(op), len(inputs)
    _placed(voice, op, inputs, rewritten=rewritten)
    inputs_said(voice, op, count)
    voice.say("new kernel", f"Creating new kernel for {op} on device {CPU}")
    voice.say("device set", f"Device for [{op}] already set to: {CPU}")
    voice.say("outputs on device", f"{op} function_outputs_on_op_device: {voice.dialect.false}")
    note = "goo.gle/debugonly   \n" if voice.dialect.redacted else ""
    voice.say("wrapper", note + _signature(name, op, _input_names(op, count)), 40)
    text = _call_text(name, count, attributes)
    told = f"Running {name} using multi-device function. Full node_def={note}{text}"
    voice.say("by function", told, 30)
    report = _wrapper(op, inputs, attributes, outputs)
    definition = FunctionDef(name, report.nodes)
    instance = instances.make(voice, name, definition, report)
    voice.say("caching", f"Caching op {name}")
    ran = next((each[3] for each in report.events if each[0] == "rewritten"), op)
    return instance, ran


def _wrapper(op: str, inputs: Sequence[Any], attributes: Any, outputs: Sequence[Any]) -> Report:
    """The function of one node, after the layout pass."""
    nodes = [
        NodeDef(f"input_{at}", "_Arg", [], [], {"T": e.dtype, "index": at}, CPU, (e.dtype,))
        for at, e in enumerate(inputs)
    ]
    sources = [(node.name, 0) for node in nodes]
    nodes.append(NodeDef(op, op, sources, [], dict(attributes), CPU, tuple(outputs)))
    for at, dtype in enumerate(outputs):
        given = {"T": dtype, "index": at}
        nodes.append(NodeDef(f"output_{at}_RetVal", "_Retval", [(op, at)], [], given, CPU))
    graph, report = Graph(nodes, [node.name for node in nodes]), Report()
    if SETTINGS.onednn:
        use_onednn(graph, report)
    report.nodes = list(graph)
    return report


def _input_names(op: str, count: int) -> list[str]:
    known = [each.name for each in lookup(op).inputs] if registered(op) else []
    return known if len(known) == count else [f"input_{index}" for index in range(count)]


def kernel_text(voice: Voice, node: NodeDef, op: str) -> str:
    """The node of a wrapper, as `op`."""
    attributes = attributes_of(node.type, node.attributes, voice.dialect)
    return summary(node.name, op, attributes, _input_names(node.name, len(node.inputs)))


def _signature(name: str, op: str, names: Sequence[str]) -> str:
    arguments = "".join(f'  input_arg {{\n    name: "{each}"\n  }}\n' for each in names)
    inputs = "".join(f'  input: "{each}:0"\n' for each in names)
    return (
        f'signature {{\n  name: "{name}"\n{arguments}}}\nnode_def {{\n  name: "{op}"\n  op: "{op}"\n'
        f'{inputs}  device: "{CPU}"\n}}\n'
    )


def _call_text(name: str, count: int, attributes: Mapping[str, Any]) -> str:
    parts = [f'name: "{name}"\nop: "{name}"\n', 'input: "dummy_input"\n' * count]
    for key in sorted(attributes):
        value = attributes[key]
        shown = f"b: {str(value).lower()}" if isinstance(value, bool) else ""
        shown = f"type: {type_name(value)}" if hasattr(value, "is_array") else shown
        if shown:
            parts.append(f'attr {{\n  key: "{key}"\n  value {{\n    {shown}\n  }}\n}}\n')
    return "".join(parts)


def kernel_made(
    voice: Voice, op: str, inputs: Sequence[Any], attributes: Mapping[str, Any], *, rewritten: bool
) -> None:
    """A release that does not wrap ops makes the kernel itself."""
    voice.say("new kernel", f"Creating new kernel for {op} on device <unspecified>")
    voice.say("outputs on device", f"{op} function_outputs_on_op_device: 0")
    _placed(voice, op, inputs, rewritten=rewritten)
    text = _call_text(op, len(inputs), attributes)
    voice.say("by kernel", f"Running {op} using op kernel. . Full node_def={text}", 20)
    plain = {key: value for key, value in attributes.items() if not key.startswith("_")}
    plain |= {"_kernel": "MklNameChangeOp"} if rewritten else {}
    text = summary(op, op, plain, ["dummy_input"] * len(inputs), "", marked=False)
    voice.say("kernel", f"Instantiating kernel for node: {text}", 12)


def call_begins(voice: Voice, name: str, count: int, *, cached: bool) -> None:
    """A function is called eagerly."""
    voice.say("entering", f"Entering eager executing local operation '{name}'", 20)
    inputs_said(voice, name, count)
    if cached:
        return
    voice.say("new kernel", f"Creating new kernel for {name} on device <unspecified>")
    voice.say("preferred device", f"PreferredDevice {name}: {_TASK}")
    voice.say("placed op", f"Placer place op [{name}] on device: {CPU}")
    voice.say("compilation device", "Compilation Device Type: CPU")
    voice.say("outputs on device", f"{name} function_outputs_on_op_device: {voice.dialect.false}")
    note = "goo.gle/debugonly   \n" if voice.dialect.redacted else ""
    text = _call_text(name, count, {})
    told = f"Running {name} using multi-device function. Full node_def={note}{text}"
    voice.say("by function", told, 30)
