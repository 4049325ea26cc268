"""`tf.strings` and `tf.print`.

Told about: `python/ops/string_ops.py`, `print_v2` of `python/ops/logging_ops.py`.
"""

from __future__ import annotations

import pprint
import sys
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes, nest
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays, joining, reductions, slicing
from tflogscope.runtime.ops.call import call, call_node, generated, results
from tflogscope.runtime.tensors import Tensor

as_string = generated("AsString")
length = generated("StringLength")
lower = generated("StringLower")
strip = generated("StringStrip")
to_hash_bucket_fast = generated("StringToHashBucketFast")
substr = generated("Substr")
upper = generated("StringUpper")


def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """The strings of all, element by element, one after the other."""
    return call("StringJoin", list(inputs), separator=separator, name=name)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of each string: a ragged tensor; of one string, a vector.

    Raises NotInThisRuntime for more dimensions.
    """
    from tflogscope.runtime.ragged import RaggedTensor

    with op_scope(name, "StringSplit"):
        input = convert_to_tensor(input, dtype=dtypes.string, name="input")
        if input.shape.rank not in (0, 1):
            raise NotInThisRuntime("tf.strings.split of more than one dimension")
        strings = arrays.expand_dims(input, 0) if input.shape.rank == 0 else input
        found = results("StringSplitV2", strings, "" if sep is None else sep, maxsplit=maxsplit)
        if input.shape.rank == 0:
            return found.values
        return RaggedTensor.from_value_rowids(
            found.values, found.indices[:, 0], nrows=found.shape[0]
        )


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of each string: a ragged tensor; of one string, a vector."""
    return _by_character(input, "BYTE", name)


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The characters of each string: a ragged tensor; of one string, a vector."""
    del input_encoding, errors, replacement_char
    return _by_character(input, "UTF8_CHAR", name)


def _by_character(input: Any, unit: str, name: str | None) -> Any:
    """NB: TensorFlow has ops of their own for it; here each character is a `Substr`."""
    from tflogscope.runtime.ragged import RaggedTensor

    with op_scope(name, "StringBytesSplit"):
        input = convert_to_tensor(input, dtype=dtypes.string, name="input")
        strings = arrays.reshape(input, [-1])
        lengths = call("StringLength", strings, unit=unit)
        rows = joining.repeat(arrays.range(arrays.size(strings)), lengths)
        starts = reductions.cumsum(lengths, exclusive=True)
        places = arrays.range(arrays.size(rows)) - slicing.gather(starts, rows)
        parts = call("Substr", slicing.gather(strings, rows), places,
                     arrays.ones_like(places), unit=unit)  # fmt: skip
        if input.shape.rank == 0:
            return parts
        return RaggedTensor.from_row_lengths(parts, lengths)


def to_number(input: Any, out_type: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """The numbers that the strings say."""
    return call("StringToNumber", input, out_type=out_type, name=name)


def regex_replace(
    input: Any,
    pattern: Any,
    rewrite: Any,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    """What matches the pattern, replaced."""
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        texts = {"pattern": _text(pattern), "rewrite": _text(rewrite)}
        return call("StaticRegexReplace", input, **texts, replace_global=replace_global, name=name)
    return call("RegexReplace", input, pattern, rewrite, replace_global=replace_global, name=name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Does the pattern match the whole string?"""
    return call("StaticRegexFullMatch", input, pattern=_text(pattern), name=name)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings along `axis` (all) as one."""
    with op_scope(None, "ReduceJoin"):
        inputs = convert_to_tensor(inputs)
        if axis is None:
            rank = inputs.shape.rank
            axis = (
                arrays.range(0, arrays.rank(inputs))
                if rank is None
                else constant(np.arange(rank), dtypes.int32)
            )
        return call("ReduceJoin", inputs, axis, keep_dims=keepdims, separator=separator, name=name)


def format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """The template with the tensors written into it. Raises ValueError if their number does not
    fit.
    """
    inputs = [inputs] if isinstance(inputs, Tensor) or hasattr(inputs, "handle") else list(inputs)
    if template.count(placeholder) != len(inputs):
        raise ValueError(
            f"The template expects {template.count(placeholder)} tensors, but the inputs only has "
            f"{len(inputs)}. Please ensure the number of placeholders in template matches inputs "
            "length."
        )
    attributes = {"template": template, "placeholder": placeholder, "summarize": summarize}
    return call("StringFormat", inputs, **attributes, name=name)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "handle")


def _stream(output_stream: Any) -> str:
    if isinstance(output_stream, str) and output_stream.startswith("file://"):
        return output_stream
    if output_stream is sys.stdout:
        return "stdout"
    if output_stream is sys.stderr:
        return "stderr"
    levels = {10: "log(info)", 20: "log(info)", 30: "log(warning)", 40: "log(error)"}
    if callable(output_stream):  # `tf.compat.v1.logging.info` itself
        names = {"info": 20, "warning": 30, "error": 40}
        output_stream = names.get(getattr(output_stream, "__name__", ""), output_stream)
    found = levels.get(output_stream) if isinstance(output_stream, int) else None
    if found is None:
        raise ValueError(
            f"Unsupported output stream, logging level, or file.{output_stream}. Supported streams "
            "are sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. "
            "File needs to be in the form of 'file://<filepath>'."
        )
    return found


def _placeholder(inputs: Any) -> str:
    """`{}`, unless the text to be printed holds it itself."""
    bare = nest.map_structure(lambda part: "" if _is_tensor(part) else part, list(inputs))
    text = " ".join(pprint.pformat(part) for part in bare)
    placeholder, number = "{}", 42
    while placeholder in text:
        placeholder, number = f"{{{number}}}", number + 1
    return placeholder


def print_tensors(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> Any:
    """`tf.print`: values and structures of them, when it is executed, to standard error.

    Raises ValueError for a stream that it does not know.
    """
    stream = _stream(sys.stderr if output_stream is None else output_stream)
    if (
        len(inputs) == 1
        and _is_tensor(inputs[0])
        and inputs[0].shape.rank == 0
        and inputs[0].dtype is dtypes.string
    ):
        text = inputs[0]
    else:
        placeholder = _placeholder(inputs)
        tensors, templates = [], []
        for part in inputs:
            leaves = nest.flatten(part)
            tensors += [leaf for leaf in leaves if _is_tensor(leaf)]
            shown = [placeholder if _is_tensor(leaf) else leaf for leaf in leaves]
            templates.append(
                part
                if isinstance(part, str)
                else pprint.pformat(nest.pack_sequence_as(part, shown))
            )
        template = sep.join(templates).replace(f"'{placeholder}'", placeholder)
        text = format(template, tensors, placeholder, summarize, f"{name}_format" if name else None)
    return call_node("PrintV2", text, output_stream=stream, end=end, name=name)
