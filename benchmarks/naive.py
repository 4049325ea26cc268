"""The yardstick: what people write today to count the ops of a log, one `re` pass line by line.

usage: python naive.py LOG    (an uncompressed log)

It counts op names and nothing else: no times, no functions, no kernels, torn lines are lost.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

# `2026-… 03:… : I tensorflow/…/executor.cc:841] Process node: 4 step -752 {{node N}} = MatMul[…`
GRAPH = re.compile(
    r"(\S+ \S+): [IWEF] (?: *\d+ )?\S*executor\.cc:\d+\] "
    r"(Process node|Synchronous kernel done|Async kernel done): "
    r"(\d+) step (-?\d+) \{\{node ([^}]*)\}\} = (\w+)\["
)
# `Executing op AddV2 in device …`
EAGER = re.compile(r"eager/execute\.cc:\d+\] Executing op (\S+) in device ")


def count_ops(path: Path) -> Counter[tuple[str, str]]:
    """Executions by (mode, op). A graph op counts when it has ended."""
    counts: Counter[tuple[str, str]] = Counter()
    running: dict[tuple[str, str], str] = {}
    with path.open(errors="replace") as lines:
        for line in lines:
            if found := GRAPH.match(line):
                _, phase, node_id, step, _, op = found.groups()
                if phase == "Process node":
                    running[step, node_id] = op
                else:
                    running.pop((step, node_id), None)
                    counts["graph", op] += 1
            elif found := EAGER.search(line):
                counts["eager", found[1]] += 1
    return counts


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    counted = sorted(count_ops(Path(sys.argv[1])).items())
    print("\n".join(f"{count:>9,}  {mode}  {op}" for (mode, op), count in counted))
