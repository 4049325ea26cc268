#!/usr/bin/env bash
# Expected: TF_ENABLE_ONEDNN_OPTS=0 turns oneDNN off: ONEDNN_VERBOSE=1 prints nothing.
# Seen: it turns off the _Mkl kernels. The plain MatMul and Conv2D call oneDNN's sgemm inside Eigen,
# and print gemm_api: matmuls the same lines with 0 and 1, convolutions one product for each part of
# the image in place of "convolution", without its name or shape.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import tensorflow as tf

a, images, kernel = tf.ones((64, 64)), tf.ones((4, 16, 16, 8)), tf.ones((3, 3, 8, 8))
print("# matmul", flush=True)
tf.function(tf.matmul)(a, a)
print("# convolution", flush=True)
tf.function(lambda x: tf.nn.conv2d(x, kernel, 1, "SAME"))(images)
PYTHON
# kinds of the primitives below the heading $2 with TF_ENABLE_ONEDNN_OPTS=$1
kinds() { awk -F, -v name="# $2" '/^# /{on = ($0 == name)} on && /,exec,/{print $6}' "$work/log$1" | sort -u | paste -sd' '; }
for setting in 0 1; do
    PYTHONUNBUFFERED=1 ONEDNN_VERBOSE=1 TF_ENABLE_ONEDNN_OPTS=$setting \
        "$work/venv/bin/python" "$work/program.py" > "$work/log$setting" 2> "$work/errors"
    echo "$setting: matmul $(kinds $setting matmul), convolution $(kinds $setting convolution)"
done
[ "$(kinds 1 matmul) $(kinds 0 matmul)" = "gemm_api gemm_api" ] || changed "matmuls"
[ "$(kinds 1 convolution)" = "convolution reorder" ] || changed "convolutions with oneDNN"
[ "$(kinds 0 convolution)" = gemm_api ] || changed "convolutions without oneDNN"
