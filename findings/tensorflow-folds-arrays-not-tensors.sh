#!/usr/bin/env bash
# Expected: what a tf.function computes from a constant of the program is computed once, whether that is a
# NumPy array or a tensor made of it; or it is computed in each call, in both cases.
# Seen: an array becomes a Const node, and grappler computes what depends on it alone while it optimizes
# the function: no call runs its Cholesky decomposition. A tensor is captured, and an argument to
# grappler: its decomposition runs in each call, as that of a variable does. So it is in a loop, where
# nothing moves the tensor's out of it, with loop_optimization set or not. (Each call has a record for
# each of five turns, and one that is dead.)
# Versions: tensorflow-cpu 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import sys

import numpy as np
import tensorflow as tf

array = np.eye(64, dtype="float32") + 0.001
kind, turns = sys.argv[1], int(sys.argv[2])
matrix = {"array": array, "tensor": tf.constant(array), "variable": tf.Variable(array)}[kind]
if "set" in sys.argv:
    tf.config.optimizer.set_experimental_options({"loop_optimization": True})


@tf.function
def solve(x):
    if turns == 1:
        return tf.linalg.cholesky(matrix) @ x
    for _ in tf.range(turns):
        x = tf.linalg.cholesky(matrix) @ x
    return x


for _ in range(3):
    solve(tf.ones((64, 2)))
PYTHON
for case in "array 1:0" "tensor 1:3" "variable 1:3" "array 5:0" "tensor 5:18" "tensor 5 set:18"; do
    # shellcheck disable=SC2086
    TF_CPP_MAX_VLOG_LEVEL=1 TF_CPP_VMODULE=executor=1 "$work/venv/bin/python" "$work/program.py" ${case%%:*} > "$work/log" 2>&1
    seen=$(grep -c 'Process node: .*}} = Cholesky\[' "$work/log" || true)
    echo "${case%%:*}: $seen records of Cholesky in 3 calls"
    [ "$seen" = "${case#*:}" ] || changed "${case%%:*}"
done
