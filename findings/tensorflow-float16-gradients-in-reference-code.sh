#!/usr/bin/env bash
# Expected: mixed_float16 on a CPU with instructions for float16 (AVX512_FP16) is about as fast as
# float32, or faster; where no kernel is good at float16, TensorFlow takes its own.
# Seen: the layout pass gives float16 convolutions to oneDNN, the gradients, too. The forward pass
# runs optimized code, the gradient of the weights "ref:any", which takes more than ten times what
# all gradients take in float32 (larger layers: hundreds of times). TensorFlow 2.13 to 2.15 keep
# these ops themselves, and Keras 2 warns of a missing GPU; Keras 3 says nothing.
# Versions: tensorflow-cpu 2.20.0, keras 3.15.1, on a CPU with AVX512_FP16
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.20.0 keras==3.15.1
cat > "$work/program.py" <<'PYTHON'
import sys

import numpy as np
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy(sys.argv[1])
layers = tf.keras.layers
model = tf.keras.Sequential(
    [
        tf.keras.Input((12, 12, 3)),
        layers.Conv2D(16, 3),
        layers.GlobalAveragePooling2D(),
        layers.Dense(10, dtype="float32"),
    ]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
images, labels = np.zeros((64, 12, 12, 3), np.float32), np.zeros(64, np.int32)
model.fit(images, labels, batch_size=8, verbose=0)
PYTHON
for policy in float32 mixed_float16; do
    ONEDNN_VERBOSE=1 TF_CPP_MIN_LOG_LEVEL=3 "$work/venv/bin/python" "$work/program.py" $policy 2> "$work/errors" |
        grep -a ',exec,cpu,convolution,' > "$work/$policy"
    awk -F, -v policy=$policy '{runs[$7" "$8]++; took[$7" "$8] += $NF}
        END {for (kind in runs) printf "%s: %d %s, %.1f ms\n", policy, runs[kind], kind, took[kind]}' "$work/$policy"
done
gradients() { grep ',backward_weights,' "$work/$1" | awk -F, '{took += $NF} END {print took}'; }
[ "$(grep -c ',forward_training,src.f16' "$work/mixed_float16")" = 8 ] || changed "float16 convolutions stay in TensorFlow"
[ "$(grep -c ',ref:any,backward_weights,src.f16' "$work/mixed_float16")" = 8 ] || changed "gradients are optimized"
! grep -q ',ref:any,' "$work/float32" || changed "float32 runs reference code"
! grep -qi 'mixed precision' "$work/errors" || changed "Keras warns"
awk "BEGIN {exit !($(gradients mixed_float16) > 3 * $(gradients float32))}" || changed "the gradients are quick"
