"""Record which nodes TensorFlow 2.13 really runs for each function of `optimised_program.py`.

    python -m tests.runtime.record_passes PYTHON_WITH_TENSORFLOW

writes `data/passes.json`: for a run with oneDNN and one without, per function the nodes that the
executor processed in its first call, as `name op`, and all those of step -1 with their number.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
PROGRAM, DATA = HERE / "optimised_program.py", HERE / "data" / "passes.json"
LOGGING = {
    "TF_CPP_VMODULE": "executor=1,process_function_library_runtime=1",
    "TF_CPP_MIN_LOG_LEVEL": "0",
}
_CALL = re.compile(r"Running component function on device \S+ from (\S+) with handle")
_NODE = re.compile(r"Process node: (\d+) step (-?\d+) \{\{node (.+?)\}\} = (\S+?)\[")


def without_numbers(name: str) -> str:
    """`f` of `__inference_f_12`; in a name made of several, too."""
    return re.sub(r"^__inference_|_\d+(?=_specialized_for_|$)", "", name)


def nodes_by_function(lines: Iterable[str]) -> dict[str, list[str]]:
    """The nodes of the first step of each function, whose number is left out of its name."""
    functions: dict[str, str] = {}
    found: dict[str, set[str]] = {}
    called = ""
    for line in lines:
        call, node = _CALL.search(line), _NODE.search(line)
        if call:
            called = without_numbers(call[1])
        elif node and node[2] != "-1":
            if node[1] == "0" and node[2] not in functions:
                functions[node[2]] = called
            found.setdefault(functions.get(node[2], ""), set()).add(f"{node[3]} {node[4]}")
    return {name: sorted(nodes) for name, nodes in found.items() if not name.startswith("__")}


def constants(lines: Iterable[str]) -> list[str]:
    """The nodes of step -1, in which constants are computed: how many of each."""
    nodes = filter(None, map(_NODE.search, lines))
    counted = Counter(f"{node[3]} {node[4]}" for node in nodes if node[2] == "-1")
    return sorted(f"{count} {node}" for node, count in counted.items())


def main() -> None:
    """Run the program twice."""
    recorded = {}
    for onednn in ("1", "0"):
        environment = {**os.environ, **LOGGING, "TF_ENABLE_ONEDNN_OPTS": onednn}
        run = subprocess.run(
            [sys.argv[1], PROGRAM], env=environment, capture_output=True, check=True
        )
        lines = run.stderr.decode(errors="replace").splitlines()
        mode = "on" if onednn == "1" else "off"
        recorded[mode] = nodes_by_function(lines)
        recorded[mode][""] = constants(lines)
    DATA.write_text(json.dumps(recorded, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
