#!/usr/bin/env bash
# Expected: a node that the layout pass turned into _MklTranspose runs a oneDNN reorder.
# Seen: in float32 it runs one; in float64 the node is _MklTranspose, too, and no primitive runs:
# the kernel is registered for more types than DoTranspose (core/kernels/mkl/mkl_transpose_op.cc)
# takes to oneDNN, and leaves the others to Eigen. In int32 the node stays a Transpose.
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


@tf.function
def turned(x):
    return tf.transpose(x + 1)


turned(tf.ones([256, 512], sys.argv[1]))
PYTHON
export TF_ENABLE_ONEDNN_OPTS=1 TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_VMODULE=executor=1 ONEDNN_VERBOSE=1
for type in float32 float64 int32; do
    "$work/venv/bin/python" "$work/program.py" "$type" > "$work/log" 2>&1
    kernel=$(grep -oE 'Process node: .* = \w*Transpose\[' "$work/log" | grep -oE '\w*Transpose')
    echo "$type: $kernel, primitives: $(grep -c 'primitive,exec' "$work/log" || true)"
done | tee "$work/seen"
grep -qx 'float32: _MklTranspose, primitives: 1' "$work/seen" || changed "float32 runs no reorder"
grep -qx 'float64: _MklTranspose, primitives: 0' "$work/seen" || changed "float64 runs a reorder, or has another kernel"
grep -qx 'int32: Transpose, primitives: 0' "$work/seen" || changed "int32 has another kernel"
