"""What changed between the traces of a function, and the one change that keeps them from changing.

`record` writes each argument as `spelled` of recording/hook/tflogscope_traces.py does. Which values
tf.function goes by: core/function/trace_type/trace_type_builder.py, from_value. A number, a text
and an object are compared by value, a tensor by its type and shape.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_VALUES = 4  # of an argument that are named
_TENSOR = re.compile(r"(\w+)\[((?:\?|\d+)(?:,(?:\?|\d+))*|)\]")
_OBJECT = re.compile(r"(\w+) object \d+")
_PYTHON = (  # the fact that says so, what it is called, and how it is spelled
    ("python", "bool", re.compile("True|False")),
    ("number", "int", re.compile(r"-?\d+")),
    ("number", "float", re.compile(r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)")),
    ("python", "str", re.compile(r"""b?['"].*""", re.DOTALL)),
    ("iterator", "iterator", re.compile(r"\w*Iterator of .*", re.DOTALL)),
)


def changed(name: str, values: Sequence[str]) -> dict[str, Any]:
    """The facts of an argument that had these values, one after the other.

    `values`: they as text; and, at most one of them, what to change: `number` (int or float),
    `python` (bool or str), `shape` and `dtype` (of a tensor), `ranks`, `types` (of tensors),
    `iterator` (its elements), `object` (the class of objects that are made again and again).
    """
    tensors = [each for each in map(_TENSOR.fullmatch, values) if each]
    kind = _of_tensors(tensors) if len(tensors) == len(values) else _of_python(values)
    return {"name": name, "values": _few(values), **kind}


def _of_tensors(tensors: Sequence[re.Match[str]]) -> dict[str, Any]:
    types = {each[1] for each in tensors}
    shapes = [each[2].split(",") if each[2] else [] for each in tensors]
    if len(types) > 1:
        return {"types": sorted(types)}
    if len({*map(len, shapes)}) > 1:
        return {"ranks": True}
    sizes = [{*each} for each in zip(*shapes, strict=True)]
    shape = ", ".join(next(iter(each)) if len(each) == 1 else "None" for each in sizes)
    return {"shape": f"[{shape}]".replace("?", "None"), "dtype": min(types)}


def _of_python(values: Sequence[str]) -> dict[str, Any]:
    for fact, kind, form in _PYTHON:
        if all(map(form.fullmatch, values)):
            return {fact: kind}
    objects = [_OBJECT.fullmatch(each) for each in values]
    return {"object": objects[0][1]} if objects[0] and all(objects) else {}


def _few(values: Sequence[str]) -> str:
    """Values in a row, some left out in the middle if there are many."""
    more = len(values) > _VALUES
    return " → ".join([*values[: _VALUES - 1], "…", values[-1]] if more else values)
