#!/usr/bin/env bash
# Expected: Keras' BatchNormalization runs as FusedBatchNormV3, and grappler fuses a convolution,
# its normalization and its ReLU into one oneDNN kernel at inference.
# Seen: that was Keras 2 (tf-keras). Keras 3 calls tf.nn.batch_normalization, seven small ops that
# no pass puts together again: the convolution alone runs in oneDNN. In training it is some twenty
# ops instead of two. tf.compat.v1.nn.fused_batch_norm is fused as ever.
# Versions: tensorflow-cpu 2.21.0, keras 3.15.1, tf-keras 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0 keras==3.15.1 tf-keras==2.21.0

cat > "$work/program.py" <<'PYTHON'
import importlib
import sys

import tensorflow as tf

keras = importlib.import_module(sys.argv[1])
training = sys.argv[2] == "training"
convolution = keras.layers.Conv2D(8, 3, padding="same", use_bias=False)
normalization = keras.layers.BatchNormalization()


@tf.function
def layers(x):
    return tf.nn.relu(normalization(convolution(x), training=training))


images = tf.random.normal((8, 8, 8, 8))
normalization(convolution(images))  # makes their weights
layers(images)
PYTHON
# the nodes that compute
nodes() {
    TF_CPP_MAX_VLOG_LEVEL=1 TF_ENABLE_ONEDNN_OPTS=1 "$work/venv/bin/python" "$work/program.py" "$@" 2>&1 |
        sed -nE '/Process node/s/.*\}\} = ([A-Za-z0-9_]+).*/\1/p' |
        grep -vE '^(NoOp|_Arg|_Retval|Identity|ReadVariableOp|(_Host)?Const|VarHandleOp)$' | sort | uniq -c | awk '{printf "%s%d %s", sep, $1, $2; sep = ", "}'
}
fused=$(nodes tf_keras inference)
unfused=$(nodes keras inference)
training=$(nodes tf_keras training)
unfused_training=$(nodes keras training)
printf '%s: %s\n' "Keras 2" "$fused" "Keras 3" "$unfused" "Keras 2, training" "$training" "Keras 3, training" "$unfused_training"
[ "$fused" = "1 _MklNativeFusedConv2D" ] || changed "Keras 2 isn't fused"
grep -q '1 _MklNativeConv2D' <<< "$unfused" || changed "the convolution of Keras 3 is fused"
grep -q Rsqrt <<< "$unfused" || changed "Keras 3 normalizes otherwise"
grep -q _MklNativeFusedBatchNormEx <<< "$training" || changed "Keras 2 in training"
! grep -q FusedBatchNorm <<< "$unfused_training" || changed "Keras 3 fuses in training"
