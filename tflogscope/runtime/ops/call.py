"""Calling an op by its name, with Python values where tensors are meant: `call("MatMul", x, [[1.0],
[2.0]])`.

What TensorFlow generates a Python function for, op by op (`gen_math_ops.mat_mul`). Values become
tensors: eagerly at once, in the dtype of a tensor among the inputs; in graphs as `Const` nodes
within the name scope of the op (`MatMul/b`).

Told about: `op_def_library._apply_op_helper` (graphs), `TFE_Py_FastPathExecute` of
`python/eager/pywrap_tfe_src.cc` (eager).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from tflogscope.runtime import context
from tflogscope.runtime.conversion import convert_many, convert_to_tensor
from tflogscope.runtime.dtypes import DType, as_dtype
from tflogscope.runtime.errors import InvalidArgumentError, NotInThisRuntime, OpError
from tflogscope.runtime.ops.declare import (
    REQUIRED,
    Argument,
    Signature,
    allowed_names,
    signature_of,
)
from tflogscope.runtime.ops.describing import op_text
from tflogscope.runtime.release import since
from tflogscope.runtime.tensors import EagerTensor, Tensor

__all__ = ["call", "call_node", "control_dependencies", "generated", "results", "snake_case"]


def call(type: str, /, *values: Any, name: str | None = None, **attributes: Any) -> Tensor:
    """Call an op that has one output, with these inputs, in order; a list for an input that is a
    list.

    Raises NotInThisRuntime for an unknown op, TypeError for inputs of wrong types (in graphs;
    InvalidArgumentError eagerly).
    """
    return results(type, *values, name=name, **attributes)  # type: ignore[no-any-return]


def results(type: str, /, *values: Any, name: str | None = None, **attributes: Any) -> Any:
    """Call an op with any number of outputs: gives a tensor, a list of them, a named tuple of
    several; None if it has none.
    """
    signature = signature_of(type)
    if signature is None:
        raise NotInThisRuntime(f"The op {type}")
    full = _with_defaults(signature, attributes)
    if signature.words:
        _check_words(signature, full)
    if context.executing_eagerly():
        try:
            inputs = _eager_inputs(signature, values, full)
        except InvalidArgumentError as error:
            if error.message.endswith(" name: "):
                error.message += name or ""
            raise
        try:
            outputs = context.execute(type, inputs, full, name)
        except OpError as error:
            if not _fast(signature, values):
                error.message = error.message.removesuffix(f" name: {name or ''}")
            raise
        return _structured(signature, outputs, full)
    with context.name_scope(name or type) as scope:
        graph: Any = context.current()
        given = _graph_inputs(signature, values, full)
        inputs = given if graph.asks_elsewhere(type, given) else list(map(graph.capture, given))
    # outside the op's own scope, since tapes note the scope in which an op is called
    return _structured(signature, context.execute(type, inputs, full, scope), full)


def _fast(signature: Signature, values: Sequence[Any]) -> bool:
    """Would TensorFlow's C++ have converted the inputs itself? Only then do its errors end in
    `name: `.
    """
    for argument, value in zip(signature.inputs, values, strict=True):
        listed = argument.count or argument.list_of_types
        for part in value if listed else (value,):
            plain = isinstance(part, EagerTensor | np.ndarray | np.generic | int | float | complex)
            if not plain and not hasattr(part, "handle"):
                return False
    return True


def call_node(type: str, /, *values: Any, name: str | None = None, **attributes: Any) -> Any:
    """Call an op without outputs; gives its node in a graph, None eagerly."""
    results(type, *values, name=name, **attributes)
    return None if context.executing_eagerly() else context.current().nodes[-1]  # type: ignore[attr-defined]


def generated(type: str, doc: str = "", name: str | None = None) -> Callable[..., Any]:
    """The Python function of an op: its inputs, then its attributes, by position or by their names;
    then `name`.

    TensorFlow writes a file of these when it is built (`gen_math_ops.py`); many are public as they
    are: `tf.exp`.
    """

    def function(*values: Any, name: str | None = None, **keywords: Any) -> Any:
        signature = signature_of(type)
        if signature is None:
            raise NotInThisRuntime(f"The op {type}")
        given = dict(zip(_parameters(signature), values, strict=False)) | keywords
        try:
            inputs = [given.pop(each.name) for each in signature.inputs]
        except KeyError as missing:
            raise TypeError(f"{type} missing required argument: {missing}") from None
        return results(type, *inputs, name=name, **given)

    function.__name__ = function.__qualname__ = name or snake_case(type)
    function.__doc__ = doc or f"The op {type}. Raises what its shape function and kernel raise."
    return function


def snake_case(type: str) -> str:
    """`LogicalNot` is `logical_not`."""
    return _BEFORE_A_WORD.sub("_", type).lower()


_BEFORE_A_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _parameters(signature: Signature) -> list[str]:
    """The names of the parameters: inputs, attributes that must be given, the others."""
    inputs = [each.name for each in signature.inputs]
    known = {each.type for each in signature.inputs} | {each.count for each in signature.inputs}
    free = {name: default for name, default in signature.attributes.items() if name not in known}
    required = [name for name, default in free.items() if default is REQUIRED]
    return inputs + required + [name for name in free if name not in required]


def control_dependencies(inputs: Sequence[Any] | None) -> AbstractContextManager[None]:
    """`tf.control_dependencies`: nodes made in it run after these. Nothing eagerly, where order is
    kept anyway.
    """
    if context.executing_eagerly():
        return nullcontext()
    return context.current().control_dependencies(inputs)  # type: ignore[attr-defined, no-any-return]


_LATER = {"debug_name": (2, 15)}
"""Attributes that ops of the releases from then on have."""


def _with_defaults(signature: Signature, given: dict[str, Any]) -> dict[str, Any]:
    """The attributes: those given, and the defaults of others that follow from no input."""
    from_inputs = {each.type for each in signature.inputs} | {
        each.count for each in signature.inputs
    }
    full = {}
    for name, default in signature.attributes.items():
        value = given.pop(name, None)
        if name in _LATER and not since(*_LATER[name]):
            continue
        if value is not None:
            full[name] = (
                as_dtype(value)
                if isinstance(default, DType) or _is_type(signature, name)
                else value
            )
        elif name not in from_inputs:
            if default is REQUIRED:
                raise TypeError(f"{signature.type} needs the attribute {name}")
            full[name] = default
    if given:
        raise TypeError(
            f"{signature.type} got an unexpected keyword argument {next(iter(given))!r}"
        )
    return full


def _check_words(signature: Signature, attributes: dict[str, Any]) -> None:
    """Raise ValueError (eagerly InvalidArgumentError) for a text that the attribute may not be.

    NB: eagerly TensorFlow goes on with the declaration of the op that would have run, oneDNN's.
    """
    for name, words in signature.words.items():
        given = attributes[name]
        if given in words:
            continue
        known = ", ".join(f'"{word}"' for word in words)
        if context.executing_eagerly():
            text = (
                f"Value for attr '{name}' of \"{given}\" is not in the list of allowed values: "
                f"{known}\n\t; NodeDef: {{{{node {signature.type}}}}}; {op_text(signature)} "
                f"[Op:{signature.type}] name: "
            )
            raise InvalidArgumentError(None, None, text)
        raise ValueError(
            f"Attr '{name}' of '{signature.type}' Op passed string '{given}' not in: {known}."
        )


def _is_type(signature: Signature, attribute: str) -> bool:
    arguments = (*signature.inputs, *signature.outputs)
    return any(each.type == attribute and not each.list_of_types for each in arguments)


def _structured(signature: Signature, outputs: list[Tensor], attributes: dict[str, Any]) -> Any:
    """The flat outputs as the signature groups them."""
    if len(signature.outputs) == 1:
        only = signature.outputs[0]
        # a list of the caller's own, to do with what he likes
        return list(outputs) if only.count or only.list_of_types else outputs[0]
    if not signature.outputs:
        return None
    parts: list[Any] = []
    for each in signature.outputs:
        if each.count or each.list_of_types:
            number = attributes[each.count] if each.count else len(attributes[each.type])
            parts.append(outputs[:number])
            outputs = outputs[number:]
        else:
            parts.append(outputs[0])
            outputs = outputs[1:]
    return signature.result(*parts)


# -- eager: Python values take the dtype of a tensor among the inputs


def _eager_inputs(
    signature: Signature, values: Sequence[Any], attributes: dict[str, Any]
) -> list[Tensor]:
    _check_count(signature, values)
    inputs: list[Tensor] = []
    for argument, value in zip(signature.inputs, values, strict=True):
        if argument.list_of_types:
            converted = [convert_to_tensor(part) for part in value]
            attributes[argument.type] = [part.dtype for part in converted]
        else:
            several = _listed(signature, argument, value)
            wanted = (
                argument.dtype
                or attributes.get(argument.type)
                or _dtype_of_tensors(signature, values, argument.type)
            )
            converted = [_eager_input(part, wanted, signature, argument) for part in several]
            if argument.count:
                attributes[argument.count] = len(converted)
            if not argument.dtype and converted:
                attributes.setdefault(argument.type, converted[0].dtype)
            elif not argument.dtype:
                attributes.setdefault(argument.type, signature.attributes[argument.type])
        inputs += converted
    try:
        _check_eager(signature, inputs, attributes)
    except InvalidArgumentError as error:
        given = any(isinstance(each, Tensor) or hasattr(each, "handle") for each in values)
        if not given and not _fast(signature, values):
            error.message = error.message.removesuffix(" name: ")
        raise
    return inputs


def _eager_input(
    value: Any, wanted: DType | None, signature: Signature, argument: Argument
) -> Tensor:
    if isinstance(value, EagerTensor):
        return value
    default = signature.attributes.get(argument.type)
    if wanted is None and isinstance(default, DType):
        if isinstance(value, (int, float, complex)):
            return convert_to_tensor(value, dtype_hint=default)  # type: ignore[no-any-return]
        return _by_default(signature, argument, value, None)
    if wanted is not None and isinstance(getattr(value, "dtype", None), DType):
        wanted = None  # a variable: a mismatch is the op's own error
    return convert_to_tensor(value, wanted)  # type: ignore[no-any-return]


def _by_default(signature: Signature, argument: Argument, value: Any, name: str | None) -> Tensor:
    """A value whose type has a default, which is taken only if the value's own may not be.

    NB: in graphs an empty list leaves an unused float constant behind.
    """
    try:
        inferred = convert_to_tensor(value, name=name)
    except TypeError:
        inferred = None
    if inferred is not None and inferred.dtype in signature.allowed.get(argument.type, ()):
        return inferred  # type: ignore[no-any-return]
    default = signature.attributes[argument.type]
    return convert_to_tensor(value, name=name, dtype_hint=default)  # type: ignore[no-any-return]


def _dtype_of_tensors(signature: Signature, values: Sequence[Any], attribute: str) -> DType | None:
    """The dtype of the first tensor or variable among the inputs of that type."""
    for argument, value in zip(signature.inputs, values, strict=True):
        if argument.type == attribute and not argument.list_of_types:
            for part in value if argument.count and isinstance(value, (list, tuple)) else (value,):
                dtype = getattr(part, "dtype", None)
                if isinstance(dtype, DType):
                    return dtype
    return None


def _check_eager(signature: Signature, inputs: list[Tensor], attributes: dict[str, Any]) -> None:
    from tflogscope.runtime.passes.eager_ops import rewritten

    position = 0
    for argument in signature.inputs:
        if argument.list_of_types:
            return
        expected = argument.dtype or attributes[argument.type]
        for _ in range(attributes[argument.count] if argument.count else 1):
            if inputs[position].dtype is not expected:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"cannot compute {rewritten(signature.type, attributes)} as input "
                    f"#{position}(zero-based) was expected to be a {_short(expected)} tensor but "
                    f"is a {_short(inputs[position].dtype)} tensor [Op:{signature.type}] name: ",
                )
            position += 1
    for name, allowed in signature.allowed.items():
        if isinstance(attributes.get(name), DType) and attributes[name] not in allowed:
            raise InvalidArgumentError(
                None,
                None,
                f"Value for attr '{name}' of {_short(attributes[name])} is not in the list of "
                f"allowed values: {', '.join(_short(each) for each in allowed)}\n\t; NodeDef: "
                f"{{{{node {signature.type}}}}}; {op_text(signature)} [Op:{signature.type}] name: ",
            )


def _short(dtype: DType) -> str:
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.name, dtype.name)


# -- graphs: Python values become constants within the op's name scope


def _graph_inputs(
    signature: Signature, values: Sequence[Any], attributes: dict[str, Any]
) -> list[Tensor]:
    _check_count(signature, values)
    inputs: list[Tensor] = []
    given_by: dict[str, str] = {}
    for argument, value in zip(signature.inputs, values, strict=True):
        if argument.list_of_types:
            converted = [
                convert_to_tensor(part, None, f"{argument.name}_{index}")
                for index, part in enumerate(value)
            ]
            attributes[argument.type] = [part.dtype for part in converted]
        elif argument.count:
            converted = _graph_list(
                signature, argument, _listed(signature, argument, value), attributes
            )
            attributes[argument.count] = len(converted)
        else:
            converted = [_graph_input(signature, argument, value, attributes, given_by)]
        if not argument.dtype and not argument.list_of_types:
            _settle(signature, argument, converted, attributes, given_by)
        inputs += converted
    return inputs


def _graph_input(
    signature: Signature,
    argument: Argument,
    value: Any,
    attributes: dict[str, Any],
    given_by: dict[str, str],
) -> Tensor:
    wanted = argument.dtype or attributes.get(argument.type)
    default = signature.attributes.get(argument.type)
    try:
        if wanted is None and isinstance(default, DType) and argument.type in signature.allowed:
            return _by_default(signature, argument, value, argument.name)
        hint = default if isinstance(default, DType) else None
        return convert_to_tensor(value, wanted, argument.name, dtype_hint=hint)  # type: ignore[no-any-return]
    except TypeError as error:
        if wanted is None:
            raise
        raise TypeError(
            f"Expected {wanted.name} passed to parameter '{argument.name}' of op "
            f"'{signature.type}', got {value!r} of type '{type(value).__name__}' instead. Error: "
            f"{error}"
        ) from error
    except ValueError as error:
        raise _mismatch(signature, argument, value, attributes, given_by, error) from None


def _mismatch(
    signature: Signature,
    argument: Argument,
    value: Any,
    attributes: dict[str, Any],
    given_by: dict[str, str],
    error: ValueError,
) -> Exception:
    observed = getattr(value, "dtype", None)
    if not isinstance(observed, DType):
        return ValueError(
            f"Tried to convert '{argument.name}' to a tensor and failed. Error: {error}"
        )
    text = (
        f"Input '{argument.name}' of '{signature.type}' Op has type {observed.name} that does not "
        "match"
    )
    if argument.dtype:
        return TypeError(f"{text} expected type of {argument.dtype.name}.")
    source = given_by.get(argument.type, "Default in OpDef")
    return TypeError(f"{text} type {attributes[argument.type].name} of argument '{source}'.")


def _graph_list(
    signature: Signature, argument: Argument, values: Sequence[Any], attributes: dict[str, Any]
) -> list[Tensor]:
    wanted = argument.dtype or attributes.get(argument.type)
    try:
        converted = convert_many(values, wanted, argument.name)
        types = [part.dtype for part in converted]
    except (TypeError, ValueError):
        types = [convert_to_tensor(part).dtype for part in values]
    if all(dtype is (wanted or types[0]) for dtype in types):
        return converted
    text = (
        f"Tensors in list passed to '{argument.name}' of '{signature.type}' Op have types "
        f"[{', '.join(dtype.name for dtype in types)}] that "
    )
    if argument.dtype:
        raise TypeError(f"{text}do not match expected type {argument.dtype.name}.")
    if wanted:
        raise TypeError(f"{text}do not match type {wanted.name} inferred from earlier arguments.")
    raise TypeError(f"{text}don't all match.")


def _settle(
    signature: Signature,
    argument: Argument,
    converted: list[Tensor],
    attributes: dict[str, Any],
    given_by: dict[str, str],
) -> None:
    """Keep the dtype that this input gives to its type attribute. Raises TypeError if it may not
    have it.
    """
    if argument.type in attributes:
        return
    dtype = converted[0].dtype if converted else signature.attributes[argument.type]
    if argument.type in signature.allowed and dtype not in signature.allowed[argument.type]:
        raise TypeError(
            f"Value passed to parameter '{argument.name}' has DataType {dtype.name} not in list of "
            f"allowed values: {allowed_names(signature, argument.type)}"
        )
    attributes[argument.type] = dtype
    given_by[argument.type] = argument.name


def _check_count(signature: Signature, values: Sequence[Any]) -> None:
    if len(values) != len(signature.inputs):
        raise TypeError(f"{signature.type} takes {len(signature.inputs)} inputs, got {len(values)}")


def _listed(signature: Signature, argument: Argument, value: Any) -> Sequence[Any]:
    """The tensors of one input: itself, unless it is a list."""
    if not argument.count:
        return (value,)
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"Expected list for '{argument.name}' argument to '{signature.type}' Op, not {value!r}."
        )
    return value
