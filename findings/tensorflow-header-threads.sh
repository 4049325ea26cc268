#!/usr/bin/env bash
# Expected: nthr in the header of ONEDNN_VERBOSE is how many threads primitives may use: what
# set_intra_op_parallelism_threads says.
# Seen: it is that of the primitive that runs first. TensorFlow hands its thread pool to a primitive
# as it runs, and the header is printed then, once. If a convolution is first, nthr is the setting;
# if a matmul is (sgemm, without the pool), the number of processors; if a small fused matmul is, 1.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import sys

import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(int(sys.argv[1]))
a, images, kernel = tf.ones((64, 64)), tf.ones((4, 16, 16, 8)), tf.ones((3, 3, 8, 8))
ops = {
    "convolution": lambda: tf.nn.conv2d(images, kernel, 1, "SAME"),
    "matmul": lambda: tf.matmul(a, a),
    "fused": lambda: tf.nn.relu(tf.matmul(a, a) + a[0]),
}
for name in sys.argv[2:]:
    tf.function(ops[name])()
PYTHON
processors=$(nproc)
threads=$((processors + 1))
header() {
    TF_ENABLE_ONEDNN_OPTS=1 ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" "$threads" "$@" 2> "$work/errors" |
        sed -n 's/.*,nthr:\([0-9]*\).*/\1/p'
}
convolution=$(header convolution matmul fused)
matmul=$(header matmul convolution fused)
fused=$(header fused convolution matmul)
echo "$processors processors, $threads threads; nthr if the first is a convolution: $convolution, a matmul: $matmul, a fused matmul: $fused"
[ "$convolution" = "$threads" ] || changed "nthr isn't the setting"
[ "$matmul" = "$processors" ] || changed "a matmul's header"
[ "$fused" = 1 ] || changed "a fused matmul's header"
