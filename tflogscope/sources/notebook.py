"""What the cells of a notebook have put out, in the order in which they ran.

An `.ipynb` file is one JSON object (nbformat: nbformat.v4.schema.json). A kernel sends what a cell
writes as outputs of standard output and standard error, cut anywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_BEGINS = re.compile(rb'\s*\{\s*"(?:cells|metadata|nbformat|nbformat_minor)"\s*:')
_NOT_BEFORE = -1  # of cells that never ran


def may_be_notebook(head: bytes) -> bool:
    """Whether an input that begins so may be a notebook."""
    return _BEGINS.match(head) is not None


def outputs_of(data: bytearray) -> list[bytes] | None:
    """The text that each cell of a notebook has put out; None: it is none."""
    try:
        notebook = json.loads(data)
        if "nbformat" not in notebook:
            return None
        cells = sorted(notebook["cells"], key=_count)
        texts = ["".join(_of_cell(cell.get("outputs") or [])) for cell in cells]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    return [text.encode("utf-8", "backslashreplace") for text in texts]


def _count(cell: dict[str, Any]) -> int:
    """When a cell ran: kernels count."""
    count = cell.get("execution_count")
    return count if isinstance(count, int) else _NOT_BEFORE


def _of_cell(outputs: list[dict[str, Any]]) -> Iterator[str]:
    """The text of a cell's outputs; a line that is cut goes on in the next output of its stream."""
    begun: dict[str, str] = {}
    for output in outputs:
        if output["output_type"] == "stream":
            name, text = str(output.get("name")), _text(output["text"])
        elif output["output_type"] == "error":
            name, text = "error", "\n".join([*output.get("traceback", ()), ""])
        else:
            continue
        text = begun.pop(name, "") + text
        end = text.rfind("\n") + 1
        yield text[:end]
        if text[end:]:
            begun[name] = text[end:]
    yield from (f"{rest}\n" for rest in begun.values())


def _text(text: Any) -> str:
    return text if isinstance(text, str) else "".join(text)
