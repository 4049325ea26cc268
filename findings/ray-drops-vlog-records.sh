#!/usr/bin/env bash
# Expected: a driver of Ray prints each line of its workers; what it says it deduplicates are lines
# that are equal.
# Seen: lines are compared without their numbers. Records of VLOG that differ in time, thread and step
# number pass as one, and of the ten that two actors write the driver prints two, one of them
# "[repeated 9x across cluster]". No count of the log is right. RAY_DEDUP_LOGS=0 prints all ten.
# Versions: ray 2.60.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check ray==2.60.0
cat > "$work/program.py" <<'PYTHON'
import os
import time

import ray

ray.init(num_cpus=2, include_dashboard=False)


@ray.remote
class Worker:
    def write(self, rank):
        for step in range(5):
            record = f"I0000 00:00:170000000{step}.00000{rank} {rank} execute.cc:1775] Executing op MatMul, step {step}\n"
            os.write(2, record.encode())  # as C++ code does
            time.sleep(0.3)


ray.get([worker.write.remote(rank) for rank, worker in enumerate([Worker.remote(), Worker.remote()], 1)])
time.sleep(8)
PYTHON
export HOME="$work" TMPDIR="$work" RAY_AUTH_MODE=disabled RAY_TMPDIR="$work"
count() { "$work/venv/bin/python" "$work/program.py" > "$work/log" 2>&1 && grep -c 'Executing op' "$work/log"; }
deduplicated=$(count)
grep 'Executing op' "$work/log"
all=$(RAY_DEDUP_LOGS=0 count)
echo "printed of 10 records: $deduplicated, with RAY_DEDUP_LOGS=0 $all"
[ "$all" = 10 ] || changed "RAY_DEDUP_LOGS=0 prints $all"
[ "$deduplicated" -lt 10 ] || changed "all records are printed"
