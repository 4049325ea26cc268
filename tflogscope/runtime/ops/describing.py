"""How errors tell what is declared of an op.

    Op<name=Sqrt; signature=x:T -> y:T; attr=T:type,allowed=[DT_BFLOAT16, DT_HALF, …]>

Told about: `SummarizeOpDef` of `core/framework/op_def_util.cc`. NB: TensorFlow lists the attributes
as the op declares them; here types come last, which is so for most ops.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.node_text import attribute_text, type_name
from tflogscope.runtime.ops.declare import REQUIRED, Argument, Signature

__all__ = ["op_text"]


def op_text(signature: Signature) -> str:
    """The op, its inputs and outputs, its attributes."""
    sides = (signature.inputs, signature.outputs)
    takes, gives = (", ".join(map(_argument_text, side)) for side in sides)
    attributes = "".join(f"; attr={each}" for each in _attributes(signature))
    return f"Op<name={signature.type}; signature={takes} -> {gives}{attributes}>"


def _argument_text(argument: Argument) -> str:
    return f"{argument.name}:{f'{argument.count}*' if argument.count else ''}{argument.type}"


def _attributes(signature: Signature) -> Iterator[str]:
    arguments = (*signature.inputs, *signature.outputs)
    types = list(
        dict.fromkeys(each.type for each in arguments if each.type in signature.attributes)
    )
    counts = {each.count for each in arguments}
    for name, default in signature.attributes.items():
        if name not in types:
            kind = "int" if name in counts else _kind(default)
            minimum = ",min=1" if name in counts else ""
            words = ", ".join(f'"{word}"' for word in signature.words.get(name, ()))
            limits = f",allowed=[{words}]" if words else minimum
            yield f"{name}:{kind}{_default(default)}{limits}"
    lists = {each.type for each in arguments if each.list_of_types}
    for name in types:
        allowed = ", ".join(type_name(each) for each in signature.allowed.get(name, ()))
        limits = f",allowed=[{allowed}]" if allowed else ""
        kind = "list(type)" if name in lists else "type"
        yield f"{name}:{kind}{_default(signature.attributes[name])}{limits}"


def _kind(default: Any) -> str:
    if isinstance(default, list | tuple):
        return f"list({_kind(default[0]) if default else 'int'})"
    kinds = ((bool, "bool"), (int, "int"), (float, "float"), (DType, "type"))
    return next((kind for type_, kind in kinds if isinstance(default, type_)), "string")


def _default(default: Any) -> str:
    return "" if default is REQUIRED else f",default={attribute_text(default)}"
