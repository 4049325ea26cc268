#!/usr/bin/env bash
# Expected: with the policy mixed_bfloat16 an LSTM or GRU casts its weights to bfloat16 once a call: they
# are the same in each time step, and what doesn't change in a loop is computed in front of it.
# Seen: the casts are in the loop's body, and grappler leaves them there. Each time step casts the whole
# kernel, recurrent kernel and bias (and reads these variables) again: 3 casts a step, 150 of the 151 in a
# call of 50 steps. Only the layer's input is cast in front of the loop.
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

layer = getattr(keras.layers, sys.argv[1])(16, dtype=sys.argv[2])
function = tf.function(layer)
function(tf.ones((3, 50, 8)))
print("now", flush=True)
function(tf.ones((3, 50, 8)))
PYTHON
for case in "LSTM mixed_bfloat16:150" "GRU mixed_bfloat16:150" "LSTM float32:0"; do
    env TF_CPP_MAX_VLOG_LEVEL=1 TF_CPP_VMODULE=executor=1 "$work/venv/bin/python" "$work/program.py" ${case%%:*} 2>&1 |
        sed '1,/^now$/d' | grep -v 'is dead' > "$work/log"
    seen=$(grep -c -E 'Process node.*while/body.*\}\} = Cast\[.*DstT=DT_BFLOAT16.*SrcT=DT_FLOAT' "$work/log" || true)
    echo "${case%%:*}: casts in the loop of a call: $seen"
    [ "$seen" = "${case#*:}" ] || changed "${case%%:*}"
done
