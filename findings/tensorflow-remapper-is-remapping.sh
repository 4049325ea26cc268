#!/usr/bin/env bash
# Expected: tf.config.optimizer.set_experimental_options takes the names that grappler logs, such as
# "remapper", and complains about others.
# Seen: the keys are those of RewriterConfig: "remapping". {"remapper": False} is accepted without a word,
# as any other key is, and turns nothing off: ReLUs are fused as before.
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

if sys.argv[1:]:
    tf.config.optimizer.set_experimental_options({sys.argv[1]: False})
images, kernel, bias = tf.ones((2, 32, 32, 8)), tf.Variable(tf.ones((3, 3, 8, 8))), tf.Variable(tf.ones(8))
tf.function(lambda x: tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias)))(images)
PYTHON
# whether the convolution has the ReLU, and whether the log names the pass
for key in none remapper remapping unheardof; do
    # shellcheck disable=SC2046 # no argument
    env TF_ENABLE_ONEDNN_OPTS=1 ONEDNN_VERBOSE=1 TF_CPP_VMODULE=meta_optimizer=3 \
        "$work/venv/bin/python" "$work/program.py" $([ $key = none ] || echo $key) > "$work/verbose" 2> "$work/log"
    fused=$(grep -c ',exec,cpu,convolution,.*attr-post-ops:[^ ]*eltwise_relu' "$work/verbose" || true)
    passes=$(grep -c ' remapper: Graph size after' "$work/log" || true)
    echo "$key: $fused fused, $passes passes of remapper"
done | tee "$work/seen"
diff "$work/seen" - <<'SEEN' || changed "what the keys turn off"
none: 1 fused, 2 passes of remapper
remapper: 1 fused, 2 passes of remapper
remapping: 0 fused, 0 passes of remapper
unheardof: 1 fused, 2 passes of remapper
SEEN
