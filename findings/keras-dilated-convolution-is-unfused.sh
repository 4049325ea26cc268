#!/usr/bin/env bash
# Expected: Conv2D(dilation_rate=2, activation="relu") of Keras is one convolution of oneDNN with a
# dilation (dh1, dw1) and the ReLU fused, as tf.nn.conv2d(dilations=2) is.
# Seen: Keras calls tf.nn.convolution, which puts SpaceToBatchND in front of a convolution without
# dilation and BatchToSpaceND behind it: oneDNN's line shows four times the batch, half the height and
# width, and no fused ReLU, because bias and ReLU come behind BatchToSpaceND. DepthwiseConv2D and Conv1D
# do the same.
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

how, dilation = sys.argv[1], int(sys.argv[2])
images = tf.ones((2, 32, 32, 8))
layers = {
    "Conv1D": keras.layers.Conv1D(8, 3, dilation_rate=dilation, activation="relu"),
    "Conv2D": keras.layers.Conv2D(8, 3, dilation_rate=dilation, activation="relu"),
    "DepthwiseConv2D": keras.layers.DepthwiseConv2D(3, dilation_rate=dilation, activation="relu"),
}
if how == "conv2d":
    kernel, bias = tf.Variable(tf.ones((3, 3, 8, 8))), tf.Variable(tf.ones(8))
    function = tf.function(
        lambda x: tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "VALID", dilations=dilation), bias))
    )
else:
    layer = layers[how]
    images = images[0] if how == "Conv1D" else images
    layer.build(images.shape)
    function = tf.function(lambda x: layer(x))
function(images)
PYTHON
for case in "Conv2D 1" "Conv2D 2" "conv2d 2" "DepthwiseConv2D 2" "Conv1D 2"; do
    # shellcheck disable=SC2086 # two arguments
    env TF_ENABLE_ONEDNN_OPTS=1 ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" $case 2> "$work/errors" > "$work/verbose"
    # batch, size and dilation of the convolution, and whether a ReLU is fused
    line=$(grep ',exec,cpu,convolution,' "$work/verbose")
    shape=$(sed -E 's/.*(mb[0-9]+)_ic8.*_(ih[0-9]+)oh.*(dh[0-9]+).*_(iw[0-9]+)ow.*(dw[0-9]+).*/\1 \2 \4 \3 \5/' <<< "$line")
    echo "$case: $shape $(grep -c 'attr-post-ops:[^ ]*eltwise_relu' <<< "$line" || true) fused"
done | tee "$work/seen"
diff "$work/seen" - <<'SEEN' || changed "what runs"
Conv2D 1: mb2 ih32 iw32 dh0 dw0 1 fused
Conv2D 2: mb8 ih16 iw16 dh0 dw0 0 fused
conv2d 2: mb2 ih32 iw32 dh1 dw1 1 fused
DepthwiseConv2D 2: mb8 ih16 iw16 dh0 dw0 0 fused
Conv1D 2: mb64 ih1 iw16 dh0 dw0 0 fused
SEEN
