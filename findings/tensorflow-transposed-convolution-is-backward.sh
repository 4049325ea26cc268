#!/usr/bin/env bash
# Expected: in oneDNN's verbose lines backward_data is a gradient, so a program that only infers has
# none; a transposed convolution is a deconvolution, the primitive that oneDNN has for it, with its
# bias and ReLU fused.
# Seen: tf.nn.conv2d_transpose is Conv2DBackpropInput, and runs as convolution, backward_data, at
# inference, too. oneDNN fuses nothing into a gradient: bias and ReLU are ops of their own. PyTorch
# runs a deconvolution.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3), torch 2.13.0 (oneDNN 3.12.0)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/tensorflow"
"$work/tensorflow/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0
python3 -m venv "$work/torch"
"$work/torch/bin/pip" install --quiet --no-compile --disable-pip-version-check torch==2.13.0 numpy

cat > "$work/of_tensorflow.py" <<'PYTHON'
import tensorflow as tf

x, kernel, bias = tf.random.normal((4, 16, 16, 32)), tf.random.normal((3, 3, 16, 32)), tf.zeros(16)


@tf.function
def upsample(x):
    y = tf.nn.conv2d_transpose(x, kernel, (4, 32, 32, 16), 2)
    return tf.nn.relu(tf.nn.bias_add(y, bias))


upsample(x)
PYTHON
cat > "$work/of_torch.py" <<'PYTHON'
import torch

layer = torch.nn.ConvTranspose2d(32, 16, 3, 2)
with torch.inference_mode():
    torch.relu(layer(torch.randn(4, 32, 16, 16)))
PYTHON
# primitive, prop_kind, whether a post-op is fused
ran() {
    TF_ENABLE_ONEDNN_OPTS=1 TF_CPP_MAX_VLOG_LEVEL="$1" ONEDNN_VERBOSE=1 "$work/$2/bin/python" "$work/of_$2.py" > "$work/log" 2>&1
    grep ',exec,cpu,.*convolution,' "$work/log" | cut -d, -f6,8,10 | sort -u
}
seen=$(ran 1 tensorflow)
alone=$(grep -oE 'Process node: .*\} = (BiasAdd|Relu)\[' "$work/log" | grep -oE '(BiasAdd|Relu)' | sort -u | tr '\n' ' ')
echo "tensorflow: $seen; ops of their own: $alone"
[ "$seen" = "convolution,backward_data," ] || changed "what a transposed convolution of TensorFlow runs as"
[ "$alone" = "BiasAdd Relu " ] || changed "what is fused"
seen=$(ran 0 torch)
echo "torch: $seen"
[ "$(cut -d, -f1 <<< "$seen")" = deconvolution ] || changed "what PyTorch runs"
