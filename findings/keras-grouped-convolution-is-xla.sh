#!/usr/bin/env bash
# Expected: Conv2D(groups=2) of Keras runs as Conv2D(groups=1) does, in a kernel of oneDNN, which has
# grouped convolutions.
# Seen: Keras 3 calls it in a tf.function of its own with jit_compile=True, in eager mode and inside
# other graphs, on CPUs, too. XLA compiles it once for each shape, no _Mkl kernel runs, and neither bias
# nor activation is fused. tf.nn.conv2d with the same weights runs in oneDNN.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3), keras 3.15.1
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0 keras==3.15.1

cat > "$work/program.py" <<'PYTHON'
import sys

import keras
import tensorflow as tf

how, groups = sys.argv[1], int(sys.argv[2])
layer = keras.layers.Conv2D(8, 3, groups=groups, activation="relu")
layer.build((None, 16, 16, 8))
if how == "layer":
    function = tf.function(lambda x: layer(x))
else:
    function = tf.function(lambda x: tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, layer.kernel, 1, "VALID"), layer.bias)))
for batch in (4, 5, 6):
    for _ in range(2):
        function(tf.ones((batch, 16, 16, 8)))
PYTHON
# programs that XLA compiled, and convolutions of oneDNN
ran() {
    env TF_ENABLE_ONEDNN_OPTS=1 ONEDNN_VERBOSE=1 TF_CPP_VMODULE=xla_compilation_cache=1,device_compiler=1 \
        "$work/venv/bin/python" "$work/program.py" "$@" > "$work/verbose" 2>&1
    echo "$(grep -c 'Compilation of XLA executable time' "$work/verbose" || true) compiled, $(grep -c ',exec,cpu,convolution,' "$work/verbose" || true) convolutions"
}
for case in "layer 1" "layer 2" "op 2"; do
    # shellcheck disable=SC2086 # two arguments
    echo "$case: $(ran $case)"
done | tee "$work/seen"
diff "$work/seen" - <<'SEEN' || changed "what runs"
layer 1: 0 compiled, 6 convolutions
layer 2: 3 compiled, 0 convolutions
op 2: 0 compiled, 6 convolutions
SEEN
