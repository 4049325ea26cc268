#!/usr/bin/env bash
# Expected: each input that the executor's log prints for a node is the name of a node that it ran.
# Seen: a constant that the runtime folds has a name of its own (`Cast/_0__cf__0`), and the node that
# takes it still prints `Cast`, which never runs: the edge was replaced, the definition was not.
# Grappler folds tensors up to 100 KB, and keeps their names; larger ones are left to the runtime
# (ReplaceTensorWithConstant in core/common_runtime/constant_folding.cc), here 200 KB.
# Versions: tensorflow-cpu 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0
cat > "$work/program.py" <<'PYTHON'
import sys

import tensorflow as tf

count = int(sys.argv[1])


@tf.function
def step(x):
    return tf.reduce_sum(x * tf.cast(tf.range(count), tf.float32, name="weights"), name="total")


step(tf.ones(count))
PYTHON
for count in 50 50000; do
    TF_CPP_MAX_VLOG_LEVEL=0 TF_CPP_VMODULE=executor=2 "$work/venv/bin/python" "$work/program.py" "$count" 2> "$work/log"
    grep 'Process node' "$work/log" | grep -vF ' step -1 ' > "$work/runs"  # that is where it is folded
    nodes=$(grep -oE '\{\{node weights[^}]*\}\}' "$work/runs" | sort -u)
    inputs=$(grep -oE '= Mul\[[^(]*\([^)]*\)' "$work/runs" | grep -oE '\([^)]*\)$')
    echo "$count numbers: node $nodes, inputs of mul $inputs"
done | tee "$work/seen"
grep -qxF '50 numbers: node {{node weights}}, inputs of mul (weights, x)' "$work/seen" || changed "grappler's constant"
grep -qE '^50000 numbers: node \{\{node weights/_[0-9]+__cf__[0-9]+\}\}, inputs of mul \((x, weights|weights, x)\)$' "$work/seen" || changed "the runtime's constant"
