"""Calling an op by its name, with Python values where tensors are meant: `O.MatMul(x, [[1.0]])`.

What TensorFlow generates a Python function for, op by op (`gen_math_ops.mat_mul`). Values become
tensors: eagerly at once, in the dtype of a tensor among the inputs; in graphs as `Const` nodes
within the name scope of the op (`MatMul/b`). See `op_def_library._apply_op_helper` (graphs),
`TFE_Py_FastPathExecute` of `python/eager/pywrap_tfe_src.cc` (eager).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import DType, as_dtype
from tflogscope.runtime.core.errors import InvalidArgumentError
from tflogscope.runtime.core.registry import REQUIRED, OpDef, lookup
from tflogscope.runtime.core.tensors import Tensor


def call(type: str, /, *values: Any, name: str | None = None, **attributes: Any) -> Any:
    """Call an op with these inputs, in order; a list for an input that is a list.

    Gives a tensor, a list of them if it has several or a list, None if it has none. Raises
    NotInThisRuntime for an unknown op, TypeError for inputs of wrong types (in graphs;
    InvalidArgumentError eagerly).
    """
    definition = lookup(type)
    full = _with_defaults(definition, attributes)
    if context.executing_eagerly():
        inputs = _inputs(definition, values, full)
        return _structured(definition, context.execute(definition, inputs, full, name))
    with context.name_scope(name or type) as scope:
        graph = context.current()
        inputs = _inputs(definition, values, full)
        elsewhere = getattr(graph, "asks_elsewhere", None)
        if elsewhere is None or not elsewhere(type, inputs):
            inputs = [graph.capture(each) for each in inputs]
    # outside the op's own scope, since tapes note the scope in which an op is called
    return _structured(definition, context.execute(definition, inputs, full, scope))


class _Ops:
    """`O.Tanh(x)` is `call("Tanh", x)`."""

    def __getattr__(self, type: str) -> Callable[..., Any]:
        return partial(call, type)


O: Any = _Ops()  # noqa: E741 - reads as TensorFlow's names do


def _structured(definition: OpDef, outputs: list[Any]) -> Any:
    if not definition.outputs:
        return None
    only = definition.outputs[0]
    single = len(definition.outputs) == 1 and not only.count and not only.several
    return outputs[0] if single else list(outputs)


def _with_defaults(definition: OpDef, given: dict[str, Any]) -> dict[str, Any]:
    """The attributes: those given, and the defaults of others that follow from no input."""
    followed = {name for each in definition.inputs for name in (each.type, each.count)}
    full = {}
    for name, default in definition.attributes.items():
        value = given.pop(name, None)
        if value is not None:
            typed = isinstance(default, DType) or name in {"T", "dtype", "DstT", "out_type"}
            full[name] = as_dtype(value) if typed and not isinstance(value, tuple) else value
        elif name not in followed:
            if default is REQUIRED:
                raise TypeError(f"{definition.type} needs the attribute {name}")
            full[name] = default
    if given:
        raise TypeError(f"{definition.type} got an unexpected argument {next(iter(given))!r}")
    return full


def _inputs(definition: OpDef, values: Sequence[Any], attributes: dict[str, Any]) -> list[Any]:
    """The tensors, lists laid flat; attributes that follow from them are added. Python values take the
    dtype of the inputs before them; eagerly, and in lists, of any input of that type.
    """
    if len(values) != len(definition.inputs):
        raise TypeError(f"{definition.type} takes {len(definition.inputs)} inputs: {values}")
    eagerly, known, inputs = context.executing_eagerly(), dict(attributes), list[Any]()
    listed = [bool(each.several or each.count) for each in definition.inputs]
    parts = [list(v) if many else [v] for v, many in zip(values, listed, strict=True)]
    rows = list(zip(definition.inputs, listed, parts, strict=True))
    for argument, many, each in rows:
        typed = [as_dtype(part.dtype) for part in each if _typed(part)]
        if typed and not argument.several and (eagerly or many):
            known.setdefault(argument.type, typed[0])
    for argument, many, each in rows:
        found = []
        for at, part in enumerate(each):
            wanted = argument.dtype or (None if argument.several else known.get(argument.type))
            default = definition.attributes.get(argument.type)
            hint = default if wanted is None and isinstance(default, DType) else None
            if wanted is not None and _typed(part) and as_dtype(part.dtype) is not wanted:
                text = (
                    f"Input '{argument.name}' of '{definition.type}' Op has type {part.dtype.name} "
                    f"that does not match type {wanted.name} of argument."
                )
                raise InvalidArgumentError(None, None, text) if eagerly else TypeError(text)
            name = f"{argument.name}_{at}" if many else argument.name
            found.append(convert_to_tensor(part, wanted, name, dtype_hint=hint))
            known.setdefault(argument.type, found[-1].dtype)
        if argument.several:
            attributes[argument.type] = tuple(part.dtype for part in found)
        elif found and not argument.dtype:
            attributes.setdefault(argument.type, found[0].dtype)
        if argument.count:
            attributes[argument.count] = len(found)
        inputs += found
    return inputs


def _typed(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "handle")


def generated(type: str) -> Callable[..., Any]:
    """The Python function of an op: its inputs, then its attributes, by position or by name."""

    def function(*values: Any, name: str | None = None, **keywords: Any) -> Any:
        definition = lookup(type)
        inputs = [each.name for each in definition.inputs]
        rest = [each for each in definition.attributes if each not in inputs]
        given = dict(zip([*inputs, *rest], values, strict=False)) | keywords
        try:
            found = [given.pop(each) for each in inputs]
        except KeyError as absent:
            raise TypeError(f"{type} missing required argument: {absent}") from None
        return call(type, *found, name=name, **given)

    function.__name__ = function.__qualname__ = snake_case(type)
    return function


def snake_case(type: str) -> str:
    """`LogicalNot` is `logical_not`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type).lower()
