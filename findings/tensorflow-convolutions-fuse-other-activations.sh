#!/usr/bin/env bash
# Expected: an activation that fuses into a matmul fuses into a convolution as well; oneDNN has all of
# them as post-ops of both.
# Seen: two lists. tanh, sigmoid and GELU fuse into a matmul with its bias, and stay ops of their own
# behind a convolution. Mish fuses into a convolution only, and so does x * sigmoid(x), but not
# tf.nn.silu, which is the same with a gradient of its own.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import tensorflow as tf
from tensorflow.python.eager import context

FORMS = {
    "matmul": (lambda x, w: tf.matmul(x, w), (4, 16), (16, 8)),
    "convolution": (lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), (4, 16, 16, 8), (3, 3, 8, 8)),
}
ACTIVATIONS = {
    "relu": tf.nn.relu,
    "elu": tf.nn.elu,
    "leaky_relu": tf.nn.leaky_relu,
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "gelu": tf.nn.gelu,
    "x * sigmoid(x)": lambda x: x * tf.sigmoid(x),
    "silu": tf.nn.silu,
    "mish": lambda x: x * tf.tanh(tf.math.softplus(x)),
}


def fused(form, activation):
    """What the kernel of the product fused."""
    product, *shapes = FORMS[form]
    bias = tf.ones(8)
    function = tf.function(lambda x, w: activation(tf.nn.bias_add(product(x, w), bias)))
    context.enable_run_metadata()
    function(*map(tf.ones, shapes))
    graphs = [g for f in context.export_run_metadata().function_graphs for g in f.partition_graphs]
    context.disable_run_metadata()
    names = [name.decode() for g in graphs for node in g.node for name in node.attr["fused_ops"].list.s]
    return "+".join(names)


for name, activation in ACTIVATIONS.items():
    print(f"{name}: matmul {fused('matmul', activation)}, convolution {fused('convolution', activation)}")
PYTHON
env TF_ENABLE_ONEDNN_OPTS=1 "$work/venv/bin/python" "$work/program.py" 2> /dev/null | tee "$work/seen"
diff "$work/seen" - <<'SEEN' || changed "what is fused"
relu: matmul BiasAdd+Relu, convolution BiasAdd+Relu
elu: matmul BiasAdd+Elu, convolution BiasAdd+Elu
leaky_relu: matmul BiasAdd+LeakyRelu, convolution BiasAdd+LeakyRelu
tanh: matmul BiasAdd+Tanh, convolution BiasAdd
sigmoid: matmul BiasAdd+Sigmoid, convolution BiasAdd
gelu: matmul BiasAdd+GeluExact, convolution BiasAdd
x * sigmoid(x): matmul BiasAdd, convolution BiasAdd+_MklSwish
silu: matmul BiasAdd, convolution BiasAdd
mish: matmul BiasAdd, convolution BiasAdd+Mish
SEEN
