#!/usr/bin/env bash
# Expected: TensorFlow brings the weights of a convolution into oneDNN's layout once, as long as nothing
# assigns them: in the second call of a function there is no reorder left.
# Seen: only weights that are Const nodes of the graph are kept in that layout. Those of a variable, and
# an eager tensor that the function captured, are reordered in each call, and with a batch of 1 not
# at all: the convolution then runs on the plain layout, often by a slower implementation. A model that
# is served from a SavedModel has variables; convert_variables_to_constants_v2 makes the reorders go.
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
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

weights, batch = sys.argv[1], int(sys.argv[2])
value = tf.random.normal((3, 3, 64, 64))
kept = value if weights == "captured" else tf.Variable(value)
x = tf.random.normal((batch, 28, 28, 64))
function = tf.function(lambda x: tf.nn.conv2d(x, kept, 1, "SAME")).get_concrete_function(x)
if weights == "frozen":
    function = convert_variables_to_constants_v2(function)
for _ in range(5):
    function(x)
PYTHON
# convolutions, reorders, and the layout of the weights in the last one
ran() {
    env TF_ENABLE_ONEDNN_OPTS=1 ONEDNN_VERBOSE=1 ONEDNN_MAX_CPU_ISA=AVX2 "$work/venv/bin/python" "$work/program.py" "$@" 2> /dev/null > "$work/verbose"
    layout=$(grep ',exec,cpu,convolution,' "$work/verbose" | tail -1 | sed -E 's/.* wei:f32:[a-z]*:blocked:([A-Za-z0-9]+):.*/\1/')
    [ "$layout" = cdba ] && layout=plain || layout=blocked
    echo "$(grep -c ',exec,cpu,convolution,' "$work/verbose") runs, $(grep -c ',exec,cpu,reorder,' "$work/verbose" || true) reorders, $layout"
}
for case in "variable 16:5 runs, 5 reorders, blocked" "captured 16:5 runs, 5 reorders, blocked" "frozen 16:5 runs, 1 reorders, blocked" \
    "variable 1:5 runs, 0 reorders, plain" "frozen 1:5 runs, 1 reorders, blocked"; do
    # shellcheck disable=SC2086 # two arguments
    seen=$(ran ${case%%:*})
    echo "${case%%:*}: $seen"
    [ "$seen" = "${case#*:}" ] || changed "${case%%:*}"
done
