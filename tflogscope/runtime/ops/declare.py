"""How an op is declared: one line says its inputs, attributes and outputs, as TensorFlow's
REGISTER_OP does.

    @op("Tile(input: T, multiples: Tm; T, Tm in index) -> output: T", shape=_tile_shape)
    def _tile(input, multiples): ...        # the kernel: NumPy arrays in, NumPy arrays out

Before the semicolon are the inputs, each with its type: a dtype, or the name of an attribute that
holds it. `N*T` is a list of tensors of one type, `list(T)` of any. After it are the attributes with
their defaults; those without a default must be given, unless they follow from an input (`T`, `N`).
`T in number` limits T to the types of that set, `padding in 'SAME' 'VALID'` a text to these.

A shape function gives the shape of each output (`Inference` in operations.py tells what it sees);
the dtypes follow from the line above.
"""

from __future__ import annotations

import ast
import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.operations import Inference, Kernel, register
from tflogscope.runtime.shapes import SCALAR, UNKNOWN, TensorShape

__all__ = [
    "REQUIRED",
    "Argument",
    "Signature",
    "declared",
    "op",
    "same_shape",
    "scalar",
    "signature_of",
    "unknown_shape",
]

REQUIRED: Any = object()
"""The default of an attribute that has none."""

_NAMED = {dtype.name: dtype for dtype in dtypes.ALL}
_SETS = {
    "float": "bfloat16 float16 float32 float64",
    "inexact": "bfloat16 float16 float32 float64 complex64 complex128",
    "half_first": "float16 bfloat16 float32 float64 complex64 complex128",
    "real": "float32 float64 int32 uint8 int16 int8 int64 bfloat16 uint16 float16 uint32 uint64",
    "number": (
        "float32 float64 int32 uint8 int16 int8 complex64 int64 bfloat16 uint16 "
        "complex128 float16 uint32 uint64"
    ),
    "signed": "bfloat16 float16 float32 float64 int8 int16 int32 int64 complex64 complex128",
    "integer": "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
    "index": "int32 int64",
    # and those of single ops, since errors list them
    "neural": "float16 bfloat16 float32 float64",
    "sum": (
        "bfloat16 float16 float32 float64 uint8 uint16 uint32 uint64 int8 int16 int32 int64 "
        "complex64 complex128"
    ),
    "difference": (
        "bfloat16 float16 float32 float64 uint8 int8 uint16 int16 int32 int64 complex64 "
        "complex128 uint32 uint64"
    ),
    "product": (
        "bfloat16 float16 float32 float64 uint8 int8 uint16 int16 int32 uint32 uint64 int64 "
        "complex64 complex128"
    ),
    "power": "bfloat16 float32 float16 float64 int8 int16 int32 int64 complex64 complex128",
    "ordered": (
        "bfloat16 float16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64"
    ),
}


@dataclass(frozen=True)
class Argument:
    """An input or output: its name, its type, and the attribute that counts it if it is a list."""

    name: str
    type: str
    count: str | None = None
    list_of_types: bool = False

    @property
    def dtype(self) -> DType | None:
        """The dtype, if it is always the same one."""
        return _NAMED.get(self.type)


@dataclass(frozen=True)
class Signature:
    """What the line says."""

    type: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attributes: dict[str, Any]
    """Their defaults; REQUIRED where there is none."""
    allowed: dict[str, tuple[DType, ...]] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For attributes that are text: what they may be."""
    result: Any = None
    """For several outputs: the named tuple that holds them."""


_signatures: dict[str, Signature] = {}


def signature_of(type: str) -> Signature | None:
    """The signature of a declared op; None for a function or an unknown one."""
    return _signatures.get(type)


def declared() -> list[str]:
    """The names of all ops that were declared so."""
    return list(_signatures)


def same_shape(i: Inference) -> TensorShape:
    """The output has the shape of the first input."""
    return i.shape(0)


def scalar(i: Inference) -> TensorShape:  # noqa: ARG001 - a shape function
    """The output is one value."""
    return SCALAR


def unknown_shape(i: Inference) -> TensorShape:  # noqa: ARG001 - a shape function
    """Nothing is known before it has run."""
    return UNKNOWN


def op(
    line: str,
    shape: Callable[[Inference], TensorShape | Sequence[Any]] = same_shape,
    *,
    stateful: bool = False,
) -> Callable[[Kernel], Kernel]:
    """Declare an op and register the function below as its kernel.

    Raises ValueError for a line that is not understood, and for an op that exists.
    """
    signature = _parse(line)

    def infer(i: Inference) -> list[Any]:
        types = _output_types(signature, i)
        if not types:
            shape(i)  # for its checks
            return []
        shapes = shape(i)
        every = [shapes] * len(types) if isinstance(shapes, TensorShape) else shapes
        # of a resource or variant: the shape, and the handle data with what it leads to
        pairs = zip(types, every, strict=True)
        return [
            (dtype, *each) if isinstance(each, tuple) else (dtype, each) for dtype, each in pairs
        ]

    def declare(kernel: Kernel) -> Kernel:
        register(
            signature.type,
            infer,
            kernel,
            attributes=tuple(signature.attributes),
            stateful=stateful,
            types=_followed_types(signature),
        )
        _signatures[signature.type] = signature
        return kernel

    return declare


def _followed_types(signature: Signature) -> dict[str, int]:
    """For each type attribute the first input that tells it, as far as its place is fixed."""
    types: dict[str, int] = {}
    for place, each in enumerate(signature.inputs):
        if each.dtype is None and not each.list_of_types:
            types.setdefault(each.type, place)
        if each.count or each.list_of_types:
            break
    return types


def _output_types(signature: Signature, i: Inference) -> list[DType]:
    found: list[DType] = []
    for output in signature.outputs:
        dtype: Any = output.dtype or i.attributes[output.type]
        if output.list_of_types:
            found += dtype
        elif output.count:
            found += [dtype] * i.attributes[output.count]
        else:
            found.append(dtype)
    return found


# -- reading the line

_LINE = re.compile(
    r"^(?P<type>\w+)\((?P<inputs>[^;]*?)(?:;(?P<attributes>.*?))?\)(?: -> (?P<outputs>.*))?$"
)


def _parse(line: str) -> Signature:
    match = _LINE.match(line)
    if match is None:
        raise ValueError(f"not the declaration of an op: {line}")
    inputs = tuple(_argument(part) for part in _parts(match["inputs"]))
    outputs = tuple(_argument(part) for part in _parts(match["outputs"] or ""))
    attributes: dict[str, Any] = {}
    allowed: dict[str, tuple[DType, ...]] = {}
    words: dict[str, tuple[str, ...]] = {}
    for part in _parts(match["attributes"] or ""):
        if " in " in part:
            name, names = part.split(" in ")
            if "'" in names:
                words[name] = tuple(map(ast.literal_eval, names.split()))
                continue
            allowed[name] = tuple(_NAMED[each] for each in _SETS.get(names, names).split())
        else:
            name, _, default = part.partition("=")
            attributes[name] = _default(default) if default else REQUIRED
            if isinstance(attributes[name], DType) and attributes[name] in (
                dtypes.int32,
                dtypes.int64,
            ):
                allowed.setdefault(name, (dtypes.int32, dtypes.int64))
    for argument in (*inputs, *outputs):
        for attribute in (argument.count, None if argument.dtype else argument.type):
            if attribute:
                attributes.setdefault(attribute, REQUIRED)
    results = [each.name for each in outputs]
    result = namedtuple(match["type"], results) if len(outputs) > 1 else None  # noqa: PYI024
    return Signature(match["type"], inputs, outputs, attributes, allowed, words, result)


def _parts(text: str) -> list[str]:
    """The text cut at its commas, but for those within brackets or quotes."""
    return [
        part.strip()
        for part in re.findall(r"(?:\[[^\]]*\]|'[^']*'|\([^)]*\)|[^,\[('])+", text)
        if part.strip()
    ]


def _argument(text: str) -> Argument:
    name, _, kind = (piece.strip() for piece in text.partition(":"))
    if kind.startswith("list("):
        return Argument(name, kind[5:-1], list_of_types=True)
    count, _, of = kind.rpartition("*")
    return Argument(name, of, count or None)


def _default(text: str) -> Any:
    return _NAMED[text] if text in _NAMED else ast.literal_eval(text)


def allowed_names(signature: Signature, attribute: str) -> str:
    """The types that an attribute may be, for error messages."""
    return ", ".join(dtype.name for dtype in signature.allowed[attribute])
