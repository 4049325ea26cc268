#!/usr/bin/env bash
# Expected: TensorFlow fuses a layer's product, bias and activation into one oneDNN kernel, whatever the
# rank of its input: Dense on (batch, time, features) as on (batch, features), Conv1D as Conv2D.
# Seen: only where nothing stands between them. Dense multiplies an input of rank 3 as a matrix and
# reshapes the result in front of the bias, so that bias and activation are ops of their own, in each
# layer of a transformer. Conv1D squeezes between the bias and the activation, so that only the bias is
# fused.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3), keras 3.15.1
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0 keras==3.15.1

cat > "$work/program.py" <<'PYTHON'
import keras
import tensorflow as tf
from tensorflow.python.eager import context

COMPUTE = ("BiasAdd", "Relu", "MatMul", "Conv2D")


def run(layer, shape):
    """The kernels that one call runs, and what was fused into them."""
    layer.build(shape)
    function = tf.function(lambda x: layer(x))
    context.enable_run_metadata()
    function(tf.ones(shape))
    graphs = [g for f in context.export_run_metadata().function_graphs for g in f.partition_graphs]
    context.disable_run_metadata()
    nodes = [node for graph in graphs for node in graph.node if node.op.endswith(COMPUTE)]
    fused = [[name.decode() for name in node.attr["fused_ops"].list.s] for node in nodes]
    return " and ".join(sorted("+".join([node.op, *more]) for node, more in zip(nodes, fused)))


for name, layer, shape in (
    ("Dense of rank 2", keras.layers.Dense(8, activation="relu"), (4, 16)),
    ("Dense of rank 3", keras.layers.Dense(8, activation="relu"), (4, 10, 16)),
    ("Conv2D", keras.layers.Conv2D(8, 3, activation="relu"), (4, 16, 16, 8)),
    ("Conv1D", keras.layers.Conv1D(8, 3, activation="relu"), (4, 16, 8)),
):
    print(f"{name}: {run(layer, shape)}")
PYTHON
env TF_ENABLE_ONEDNN_OPTS=1 "$work/venv/bin/python" "$work/program.py" 2> /dev/null | tee "$work/seen"
diff "$work/seen" - <<'SEEN' || changed "what is fused"
Dense of rank 2: _MklNativeFusedMatMul+BiasAdd+Relu
Dense of rank 3: BiasAdd and Relu and _MklMatMul
Conv2D: _MklNativeFusedConv2D+BiasAdd+Relu
Conv1D: Relu and _MklNativeFusedConv2D+BiasAdd
SEEN
