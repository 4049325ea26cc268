"""What changed of a function's arguments from trace to trace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

# `record` writes arguments as `spelled` of recording/hook/tflogscope_traces.py does. Which values
# tf.function goes by: core/function/trace_type/trace_type_builder.py, from_value. A number, a text
# and an object are compared by value, a tensor by its type and shape.

_VALUES = 4  # of an argument that are named
_ITEMS = 4  # of a list that are spelled
_TENSOR = re.compile(r"(\w+)\[((?:\?|\d+)(?:,(?:\?|\d+))*|)\]")
_KIND = re.compile(r"(?:(\w+) )?" + _TENSOR.pattern)
NOTHING = ("None", "not given")
_OBJECT = re.compile(r"(\w+) object \d+")
_NUMBER = r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)"
_ALIKE = re.compile(rf"(\w+) of (\d{{1,18}}) ({_NUMBER})(?![\w\[])")
_INSIDE = re.compile(rf"(?:(?<=\()|(?<=: )|(?<=, )){_NUMBER}(?=[,)])")  # of a list or dictionary
_ITEM = re.compile(rf"(\w+|'[^']*'): ({_NUMBER})(?=[,)])")  # of a dictionary
_PYTHON = (  # the fact that says so, what it is called, and how it is spelled
    ("python", "bool", re.compile("True|False")),
    ("number", "int", re.compile(r"-?\d+")),
    ("number", "float", re.compile(_NUMBER)),
    ("python", "str", re.compile(r"""b?['"].*""", re.DOTALL)),
    ("python", "enum", re.compile(r"[^\W\d]\w*\.\w+")),
    ("elements", "iterator", re.compile(r"\w*Iterator of .*", re.DOTALL)),
)


def changed(name: str, values: Sequence[str]) -> dict[str, Any]:
    """The facts of an argument that had these values, one after the other.

    `values`: they as text; and, at most one of them, what to change: `number` (int or float),
    `python` (bool or str), `shape` and `dtype` (of a tensor), `ranks`, `types` and `kinds`
    (of tensors), `elements` (of an iterator or a structure, whose shapes change; `lengths`:
    `lengths_vary`), `open` (of sparse and ragged tensors, whose sizes change), `numbers` (of a list
    or dictionary; `items`: those of the dictionary that change), `object` (the class of objects
    that are made again and again), `none` (a value is there or isn't).
    """
    tensors = [match for match in map(_TENSOR.fullmatch, values) if match]
    if len(tensors) == len(values):
        kind = _of_tensors(tensors)
    elif tensors and not any(tensor[2] for tensor in tensors):  # in some calls a Python number
        others = _of_python([value for value in values if not _TENSOR.fullmatch(value)])
        kind = others if "number" in others else _of_python(values)
    else:
        kind = _of_python(values)
    return {"name": name, "values": _few(values), **kind}


def _of_tensors(tensors: Sequence[re.Match[str]]) -> dict[str, Any]:
    types = {tensor[1] for tensor in tensors}
    shapes = [tensor[2].split(",") if tensor[2] else [] for tensor in tensors]
    if len(types) > 1:
        return {"types": sorted(types)}
    if len({*map(len, shapes)}) > 1:
        return {"ranks": True}
    sizes = [{*dimension} for dimension in zip(*shapes, strict=True)]
    shape = ", ".join(next(iter(size)) if len(size) == 1 else "None" for size in sizes)
    return {"shape": f"[{shape}]".replace("?", "None"), "dtype": min(types)}


def _of_python(values: Sequence[str]) -> dict[str, Any]:
    if not {*values}.isdisjoint(NOTHING):
        return {"none": True}
    kinds = {match and (match[1] or "Tensor") for match in map(_KIND.fullmatch, values)}
    if len(kinds) > 1 and None not in kinds:
        return {"kinds": sorted(filter(None, kinds))}
    if len({_TENSOR.sub(r"\1", value) for value in values}) == 1:
        fact = "open" if kinds <= {"SparseTensor", "RaggedTensor"} else "elements"
        return {fact: True, "lengths": lengths_vary(values)}
    if len({_INSIDE.sub("", _ALIKE.sub(_apart, value)) for value in values}) == 1:
        items = dict.fromkeys(item for value in values for item in _ITEM.findall(value))
        names = Counter(name for name, _ in items)
        return {"numbers": True, "items": [name for name, count in names.items() if count > 1]}
    for fact, kind, form in _PYTHON:
        if all(map(form.fullmatch, values)):
            return {fact: kind}
    objects = [_OBJECT.fullmatch(value) for value in values]
    return {"object": objects[0][1]} if objects[0] and all(objects) else {}


def lengths_vary(values: Sequence[str]) -> bool:
    """Whether tensors in these values keep their first size, that of a batch, and no other one."""
    tensors = [[tensor[2].split(",") for tensor in _TENSOR.finditer(value)] for value in values]
    if len({tuple(map(len, shapes)) for shapes in tensors}) != 1:
        return False
    sizes = [
        [{*size} for size in zip(*shapes, strict=True)] for shapes in zip(*tensors, strict=True)
    ]
    varies = [[len(size) > 1 or size == {"?"} for size in shape] for shape in sizes]
    return not any(first for first, *_ in varies) and any(any(others) for _, *others in varies)


def _apart(alike: re.Match[str]) -> str:
    """`list of 2 0.5` as `list(0.5, 0.5)`: items are written apart where they differ."""
    kind, count, item = alike[1], int(alike[2]), alike[3]
    more = [f"… {count} in all"] if count > _ITEMS else []
    return f"{kind}({', '.join([item] * min(count, _ITEMS) + more)})"


def _few(values: Sequence[str]) -> str:
    """Values in a row, some left out in the middle if there are many."""
    more = len(values) > _VALUES
    return " → ".join([*values[: _VALUES - 1], "…", values[-1]] if more else values)
