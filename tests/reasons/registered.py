"""Prints the oneDNN kernels that each release registers, with the types that they take.

python registered.py kernels > RELEASE.json, with each release; then
python registered.py table *.json > kernels.csv
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

BLOCKED = "MklLayoutDependentOp"  # of the layout that TensorFlow gave up in 2.8
TYPE_ATTRIBUTES = ("T", "Tinput", "T1")


def kernels():
    from tensorflow.core.framework import types_pb2
    from tensorflow.python.framework.kernels import get_all_registered_kernels

    found = {}
    for kernel in get_all_registered_kernels().kernel:
        if kernel.op.startswith(("_Mkl", "_Quantized", "_FusedQuantized")):
            types = {each.name: each.allowed_values.list.type for each in kernel.constraint}
            named = next((types[name] for name in TYPE_ATTRIBUTES if name in types), [])
            said = [types_pb2.DataType.Name(number) for number in named]
            found.setdefault(kernel.op, set()).update(
                ["blocked"] if kernel.label == BLOCKED else said
            )
    return {op: " ".join(sorted(types)) for op, types in found.items()}


def table(paths):
    releases = [path.removesuffix(".json") for path in paths]
    columns = [json.loads(Path(path).read_text()) for path in paths]
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["kernel", *releases])
    for op in sorted(set().union(*columns)):
        rows.writerow([op, *(column.get(op, "") for column in columns)])


if __name__ == "__main__":
    if sys.argv[1] == "kernels":
        print(json.dumps(kernels()))
    else:
        table(sys.argv[2:])
