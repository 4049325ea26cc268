"""The table of test rows: what to call, on which inputs; and how to run a row with any TensorFlow.

A row is one line of a file in `rows/`:

    tf.add(x, y)  <-  x=float32[2,3] y=float32[3]

The same code runs it with the real TensorFlow (`record.py`, which keeps what it saw in `data/`) and
with the small one (`test_ops.py`, which compares). Neither pytest nor TensorFlow is imported here.

An input is `dtype[shape]`, drawn from (-2, 2), or from the range that follows: `float32[3](0.1,2)`;
`int32:[9]` gives the value itself; a `@` before the dtype makes it a `tf.Variable`. A line that
begins with `!` is not differentiated; `~` says that it draws random numbers, so values differ from
mode to mode.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
RECORDS = HERE / "data" / "ops.jsonl.gz"
UNTOLD = {"ReadVariableOp"}
"""Eager ops that a callback is not told of: a variable given to an op is read by its C++ code."""
_INPUT = re.compile(
    r"(?P<name>\w+)=(?P<variable>@?)(?P<dtype>\w+)"
    r"(?::(?P<value>\S+)|\[(?P<shape>[\d,]*)\](?:\((?P<low>[-\d.]+),(?P<high>[-\d.]+)\))?)"
)


@dataclass(frozen=True)
class Input:
    """One argument: a NumPy array, to be made a tensor or a variable."""

    name: str
    dtype: str
    array: Any
    variable: bool

    @property
    def differentiable(self) -> bool:
        return self.dtype in {"float16", "float32", "float64", "bfloat16"}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    text: str
    call: str
    inputs: tuple[Input, ...]
    differentiated: bool
    random: bool


def rows() -> Iterator[Row]:
    """All rows of the table, file by file."""
    for path in sorted((HERE / "rows").glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                yield parse(line.strip())


def recorded() -> list[dict[str, Any]]:
    """What the real TensorFlow did for each row."""
    with gzip.open(RECORDS, "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    for record in found:
        for mode, eager in (("traced", "eager"), ("traced gradient", "gradient")):
            if mode in record and "nodes" in record[mode]:  # the same values are kept once
                record[mode].setdefault("values", record[eager].get("values"))
    return found


def keep(records: list[dict[str, Any]]) -> None:
    """Write the file that `recorded` reads."""
    for record in records:
        for mode, eager in (("traced", "eager"), ("traced gradient", "gradient")):
            if record.get(mode, {}).get("values") == record.get(eager, {}).get("values"):
                record.get(mode, {}).pop("values", None)
    lines = [json.dumps(record, separators=(",", ":")) + "\n" for record in records]
    RECORDS.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def parse(line: str) -> Row:
    """The row that a line describes."""
    call, _, inputs = line.partition("  <-  ")
    flags = call[: len(call) - len(call.lstrip("!~"))]
    drawn = tuple(_input(match) for match in _INPUT.finditer(inputs))
    if len(drawn) != len(inputs.split()):
        raise ValueError(f"inputs that are not understood: {line}")
    return Row(line, call[len(flags) :].strip(), drawn, "!" not in flags, "~" in flags)


def _input(match: re.Match[str]) -> Input:
    name, dtype = match["name"], match["dtype"]
    numpy = {"bfloat16": "float32", "string": "object"}.get(dtype, dtype)
    if match["value"] is not None:
        array = np.array(json.loads(match["value"]), dtype=numpy)
    else:
        shape = tuple(int(dim) for dim in match["shape"].split(",") if dim)
        array = _draw(name, numpy, shape, match["low"], match["high"])
    return Input(name, dtype, array, bool(match["variable"]))


def _draw(name: str, dtype: str, shape: tuple[int, ...], low: str | None, high: str | None) -> Any:
    random = np.random.RandomState(zlib.crc32(f"{name} {dtype} {shape}".encode()))
    if dtype == "bool":
        return random.randint(0, 2, shape).astype(bool)
    if dtype.startswith(("int", "uint")):
        floor = 0 if dtype.startswith("u") else -5
        return random.randint(int(low or floor), int(high or 6), shape).astype(dtype)
    drawn = np.round(random.uniform(float(low or -2), float(high or 2), shape), 3)
    return np.asarray(drawn, dtype=dtype)


Watch = Callable[[], AbstractContextManager[list[str]]]
"""Gives a context manager: the list it yields holds the ops that ran eagerly within, as text."""


def run(tf: Any, row: Row, watch: Watch, nodes: Callable[[Any], list[str]]) -> dict[str, Any]:
    """What `tf` does for that row, by mode; errors instead of results where it raises."""
    seen: dict[str, Any] = {"row": row.text}
    seen["eager"] = _attempt(lambda: _eager(tf, row, watch))
    seen["traced"] = _attempt(lambda: _traced(tf, row, nodes))
    if row.differentiated and "error" not in seen["eager"]:
        gradients = _output_gradients(seen["eager"]["values"])
        if gradients:
            seen["gradient"] = _attempt(lambda: _gradient(tf, row, gradients, watch))
            seen["traced gradient"] = _attempt(lambda: _traced_gradient(tf, row, gradients, nodes))
    return seen


def run_traced(tf: Any, row: Row, values: list[list[Any]] | None) -> dict[str, Any]:
    """Only the traced modes; `values` are the results, if their gradients are wanted too."""
    seen = {"traced": _attempt(lambda: _traced(tf, row, lambda _: []))}
    if row.differentiated and values is not None and (gradients := _output_gradients(values)):
        seen["traced gradient"] = _attempt(
            lambda: _traced_gradient(tf, row, gradients, lambda _: [])
        )
    return seen


def _attempt(action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return action()
    except Exception as error:  # noqa: BLE001 -- whatever it raises is what is recorded
        return {"error": type(error).__name__, "message": substance(str(error))}


def substance(message: str) -> str:
    """What an error's text says, without where it happened."""
    message = re.sub(r"^Graph execution error:.*?\nNode: '[^']*'\n", "", message, flags=re.DOTALL)
    message = re.sub(r"^\{\{function_node [^}]*\}\} ?", "", message)
    message = message.split(" for '{{node")[0].split("\n\t ")[0]
    return re.split(r"\n?\t \[\[| ?\[Op:|\n\t; NodeDef", message)[0].strip()[:300]


def arguments(tf: Any, row: Row) -> dict[str, Any]:
    """The row's inputs as tensors and variables of `tf`, by name."""
    made = {}
    for each in row.inputs:
        if each.dtype == "bfloat16":
            tensor = tf.cast(tf.constant(each.array), tf.bfloat16)
        else:
            tensor = tf.constant(each.array, dtype=each.dtype)
        made[each.name] = tf.Variable(tensor, name=each.name) if each.variable else tensor
    return made


def _evaluate(tf: Any, row: Row, names: dict[str, Any]) -> Any:
    return eval(row.call, {"tf": tf, "np": np, **names})


def _flat(tf: Any, result: Any) -> list[Any]:
    parts: list[Any] = []
    for part in tf.nest.flatten(result):
        sparse = hasattr(part, "indices") and hasattr(part, "dense_shape")  # tf.IndexedSlices
        parts += [part.values, part.indices] if sparse else [part] if hasattr(part, "dtype") else []
    return parts


def _eager(tf: Any, row: Row, watch: Watch) -> dict[str, Any]:
    names = arguments(tf, row)
    tf.random.set_seed(5)
    with watch() as ops:
        result = _evaluate(tf, row, names)
    ran = list(ops)
    return {"ops": ran, "values": [describe(part) for part in _flat(tf, result)]}


def _split(row: Row, names: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    variables = {each.name: names[each.name] for each in row.inputs if each.variable}
    return variables, {name: value for name, value in names.items() if name not in variables}


def _traced(tf: Any, row: Row, nodes: Callable[[Any], list[str]]) -> dict[str, Any]:
    variables, tensors = _split(row, arguments(tf, row))
    tf.random.set_seed(5)

    def body(**given: Any) -> Any:
        return _flat(tf, _evaluate(tf, row, {**variables, **given}))

    concrete = tf.function(body, autograph=False).get_concrete_function(**tensors)
    return {"nodes": nodes(concrete), "values": [describe(part) for part in concrete(**tensors)]}


def _output_gradients(values: list[list[Any]]) -> list[Any]:
    """A gradient to start from for each differentiable output; None for the others."""
    made = []
    for number, (dtype, shape, _) in enumerate(values):
        drawn = _draw(f"g{number}", "float32", tuple(shape), None, None)
        made.append(drawn.astype(dtype) if dtype in {"float16", "float32", "float64"} else None)
    return made if any(each is not None for each in made) else []


def _differentiate(
    tf: Any, row: Row, names: dict[str, Any], gradients: list[Any]
) -> tuple[Any, Any, Any]:
    sources = [names[each.name] for each in row.inputs if each.differentiable]
    with tf.GradientTape(persistent=True) as tape:
        for source in sources:
            tape.watch(source)
        results = _flat(tf, _evaluate(tf, row, names))
    kept = [
        (part, given) for part, given in zip(results, gradients, strict=False) if given is not None
    ]
    return tape, [part for part, _ in kept], (sources, [given for _, given in kept])


def _gradient(tf: Any, row: Row, gradients: list[Any], watch: Watch) -> dict[str, Any]:
    names = arguments(tf, row)
    given = [None if each is None else tf.constant(each) for each in gradients]
    tf.random.set_seed(5)
    tape, targets, (sources, starts) = _differentiate(tf, row, names, given)
    with watch() as ops:
        found = tape.gradient(targets, sources, output_gradients=starts)
    ran = list(ops)
    return {"ops": ran, "values": [describe(part) for part in _flat(tf, found)]}


def _traced_gradient(
    tf: Any, row: Row, gradients: list[Any], nodes: Callable[[Any], list[str]]
) -> dict[str, Any]:
    variables, tensors = _split(row, arguments(tf, row))
    starts = {
        f"g{number}": tf.constant(each) for number, each in enumerate(gradients) if each is not None
    }
    tf.random.set_seed(5)

    def body(**given: Any) -> Any:
        ordered = [given.pop(f"g{number}", None) for number in range(len(gradients))]
        tape, targets, (sources, kept) = _differentiate(tf, row, {**variables, **given}, ordered)
        return _flat(tf, tape.gradient(targets, sources, output_gradients=kept))

    concrete = tf.function(body, autograph=False).get_concrete_function(**tensors, **starts)
    found = concrete(**tensors, **starts)
    return {"nodes": nodes(concrete), "values": [describe(part) for part in found]}


def describe(tensor: Any) -> list[Any]:
    """`[dtype, shape, values]` of a tensor, as JSON can hold it."""
    dtype = tensor.dtype.name
    if dtype in {"resource", "variant"}:
        return [dtype, list(tensor.shape), None]
    array = np.asarray(tensor.numpy())
    if dtype == "string":
        return [dtype, list(array.shape), [part.decode() for part in array.reshape(-1)]]
    if dtype == "bfloat16":
        array = array.astype("float32")
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind == "f":
        flat = [float(f"{float(part):.7g}") for part in array.reshape(-1)]
    else:
        flat = array.reshape(-1).tolist()
    return [dtype, list(tensor.shape), flat]


def without_numbers(node: str) -> str:
    """The text of a node, without the numbers in names that count what happened before."""
    return re.sub(r"(?<=[a-z]/)\d{3,}\b", "N", node)


def text_of_attribute(value: Any) -> str:
    """A short text of an attribute's or constant's value."""
    if isinstance(value, bytes):
        return repr(value.decode("utf-8", "backslashreplace"))
    if isinstance(value, np.ndarray):
        flat = value.reshape(-1)[:16]
        return f"{list(value.shape)}{{{','.join(_text_of_element(part) for part in flat)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(text_of_attribute(part) for part in value)}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _text_of_element(part: Any) -> str:
    return (
        repr(part.decode())
        if isinstance(part, bytes)
        else f"{part:.6g}"
        if isinstance(part, (float, np.floating))
        else str(part)
    )
