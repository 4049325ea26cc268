#!/usr/bin/env bash
# Expected: TimeDistributed(Dense) on (batch, time, features) is one product: the layer is the same for
# each time step, so batch and time are one axis, as in Keras 2.
# Seen: Keras 3 calls the layer once for each time step where it knows how many there are: 50 small
# products for 50 time steps, each of a slice of the input. Where the length is None it is one product,
# of vectorized_map; Dense alone, which takes sequences, is one, too.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3), keras 3.15.1, tf-keras 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0 keras==3.15.1 tf-keras==2.21.0

cat > "$work/program.py" <<'PYTHON'
import sys

import tensorflow as tf

library, length, wrapped = sys.argv[1:]
layers = __import__(library).layers
layer = layers.Dense(64)
if wrapped == "wrapped":
    layer = layers.TimeDistributed(layer)
steps = None if length == "None" else 50
function = tf.function(layer, input_signature=[tf.TensorSpec((8, steps, 32))])
function(tf.ones((8, 50, 32)))
print("now", flush=True)
function(tf.ones((8, 50, 32)))
PYTHON
for case in "keras 50 wrapped:50" "keras None wrapped:1" "keras 50 alone:1" "tf_keras 50 wrapped:1"; do
    # Nodes that the second call ran.
    env TF_CPP_MAX_VLOG_LEVEL=1 TF_CPP_VMODULE=executor=1 "$work/venv/bin/python" "$work/program.py" ${case%%:*} 2>&1 |
        sed '1,/^now$/d' > "$work/log"
    seen=$(grep -c -E 'Process node.*\}\} = _?[A-Za-z]*MatMul(V2)?\[' "$work/log" || true)
    echo "${case%%:*}: products of a call: $seen"
    [ "$seen" = "${case#*:}" ] || changed "${case%%:*}"
done
