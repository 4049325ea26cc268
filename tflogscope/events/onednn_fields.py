"""The composite fields of a verbose line, taken apart: descriptors, attributes, the problem.

For distinct strings, of which even long logs have few thousand; each is parsed once. What is of
no known form gives nothing; nothing here raises.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_MOST_STRINGS = 1 << 14

_TYPE = r"undef|boolean|(?:f|bf|s|u|e)[0-9]{1,2}(?:m[0-9])?|[fe][0-9]_e[0-9]m[0-9]"
_HEAD = re.compile(rf"(?:(?P<argument>[a-z][a-z0-9_]*?)_)?(?P<type>{_TYPE})")
_NEW_HEAD = re.compile(rf"(?P<argument>[a-z][a-z0-9_]*):(?P<type>{_TYPE}):")
_FLAGS = re.compile(r"f[0-9a-f]+")
_MASK = re.compile(r"_mask([0-9]+)$")
# softmax backward of 3.6 prints no space between two descriptors: `…:f0diff_dst:f32…`.
_GLUED = re.compile(r"(?<=:f0)(?=diff_[a-z]+[:_])")


class MemoryDescriptor(NamedTuple):
    """One tensor of a primitive. Texts are as printed; None where the syntax of its era has none.

    `properties`: a (format left to oneDNN), p (padded), o (offset), 0. `strides` stand there only
    if the tensor is not dense. `mask` is that of matmul's bias.
    """

    argument: str | None
    data_type: str | None
    properties: str
    format_kind: str | None
    tag: str | None
    strides: str | None
    flags: str | None
    extra: tuple[str, ...] = ()
    mask: int | None = None

    @property
    def is_undefined(self) -> bool:
        """Whether the primitive has no such tensor."""
        return self.format_kind == "undef" or self.tag in ("undef", "x")


@lru_cache(_MOST_STRINGS)
def parse_memory_descriptors(text: str | None) -> tuple[MemoryDescriptor, ...]:
    """The descriptors of a field, in order; each by its own syntax.

    `gemm_api` prints the old one inside `v1` lines. Nothing for `#…`, a field that was too long
    for oneDNN's buffer, and for texts that are no descriptors.
    """
    tokens = _GLUED.sub(" ", text or "").split()
    if tokens[:1] and tokens[0].startswith("dt:") and len(tokens) == 2:  # shuffle of 0.x
        data_type, tag = (token.partition(":")[2] for token in tokens)
        return (MemoryDescriptor(None, data_type, "", None, tag, None, None),)
    found = (_descriptor(token) for token in tokens)
    return tuple(descriptor for descriptor in found if descriptor is not None)


def _descriptor(token: str) -> MemoryDescriptor | None:
    mask = _MASK.search(token)
    if mask:
        token = token[: mask.start()]
    if head := _NEW_HEAD.match(token):
        parts = token[head.end() :].split(":")
    else:
        first, *parts = token.split(":")
        if len(parts) == 1:
            return _oldest(first, parts[0])
        head = _HEAD.fullmatch(first)
    if head is None or len(parts) < 3:
        return None
    properties, kind, tag, *rest = parts
    if tag == "grouped":
        tag, rest = ":".join([tag, *rest[:2]]), rest[2:]
    # Up to 3.1 no strides stand before the flags.
    strides = None if not rest or _FLAGS.fullmatch(rest[0]) else rest.pop(0)
    return MemoryDescriptor(
        head["argument"],
        head["type"],
        properties,
        kind,
        tag or None,
        strides or None,
        rest[0] or None if rest else None,
        tuple(rest[1:]),
        int(mask[1]) if mask else None,
    )


def _oldest(argument: str, text: str) -> MemoryDescriptor:
    """`in:f32_nchw` and `fsrc:nChw8c` of 0.x; most of them do not tell the type."""
    data_type, _, tag = text.partition("_")
    if not tag or not re.fullmatch(_TYPE, data_type):
        return MemoryDescriptor(argument, None, "", None, text, None, None)
    return MemoryDescriptor(argument, data_type, "", None, tag, None, None)


# Names that have changed: old → new, without `attr-` and with underscores.
_ATTRIBUTES = {"scratchpad_mode": "scratchpad", "acc": "acc_mode"}
_QUOTED = re.compile(r"([a-z_]+):(?:'([^']*)'|([^;]*));")


@lru_cache(_MOST_STRINGS)
def _attributes(text: str) -> tuple[tuple[str, str], ...]:
    if text.startswith("#"):
        return ()
    if text.endswith(";"):  # up to 2.2
        pairs = [(name, quoted or plain) for name, quoted, plain in _QUOTED.findall(text)]
    else:
        split = (token.partition(":") for token in text.split())
        pairs = [(name.removeprefix("attr-").replace("-", "_"), rest) for name, _, rest in split]
    return tuple((_ATTRIBUTES.get(name, name), value) for name, value in pairs)


def parse_attributes(text: str | None) -> dict[str, str]:
    """Attributes by name: `attr-post-ops:sum:2+eltwise_relu` → `{"post_ops": "sum:2+…"}`."""
    return dict(_attributes(text or ""))


def post_ops(attributes: dict[str, str]) -> list[str]:
    """The operations that are fused behind a primitive: `["sum:2", "eltwise_relu"]`."""
    return [each for each in re.split(r"[+;]", attributes.get("post_ops", "")) if each]


class Problem(NamedTuple):
    """The sizes that a problem descriptor names.

    `tensors` are dimensions by tensor (`MxK:KxN`; None: known at run time only), `sizes` those
    that have names (`mb`, `ic`, `oc`, `ih`, …; also `beta`, which is no integer).
    """

    tensors: tuple[tuple[int | None, ...], ...] = ()
    sizes: tuple[tuple[str, float], ...] = ()


_TENSORS = re.compile(r"(?:[0-9]{1,18}|\*)(?:[x:](?:[0-9]{1,18}|\*))*")
_SIZE = r"([a-z]+)([0-9]{1,18}(?:\.[0-9]+)?(?:e[-+][0-9]{1,3})?|\*)"
_SIZES = re.compile(rf"(?:{_SIZE}_?)+")


@lru_cache(_MOST_STRINGS)
def parse_problem(text: str | None) -> Problem:
    """The sizes of a problem descriptor of any primitive and era; empty if it is none."""
    text = text or ""
    if _TENSORS.fullmatch(text):
        return Problem(
            tuple(
                tuple(None if size == "*" else int(size) for size in tensor.split("x"))
                for tensor in text.split(":")
            )
        )
    if not _SIZES.fullmatch(text):
        return Problem()
    found = re.findall(_SIZE, text)
    return Problem(sizes=tuple((name, float(size)) for name, size in found if size != "*"))
