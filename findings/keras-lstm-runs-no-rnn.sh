#!/usr/bin/env bash
# Expected: an LSTM layer of Keras on a CPU is a few rnn primitives of oneDNN, as in PyTorch, at least at
# inference; TensorFlow has oneDNN, and Keras has fused kernels of cuDNN on a GPU.
# Seen: no rnn primitive at all, for LSTM, GRU and SimpleRNN alike. Each time step of a call is two
# small products (of input and state), between which TensorFlow runs the nodes of a loop. They aren't
# even of one kind: gemm_api for LSTM, inner_product for GRU, whose bias is fused, one of each for
# SimpleRNN.
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

layer = getattr(keras.layers, sys.argv[1])(64)
function = tf.function(layer)
x = tf.ones((8, 20, 32))
for _ in range(3):
    function(x)
PYTHON
for case in "LSTM:120 gemm_api, 0" "GRU:0 gemm_api, 120" "SimpleRNN:60 gemm_api, 60"; do
    layer=${case%%:*}
    env TF_ENABLE_ONEDNN_OPTS=1 ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" $layer 2> /dev/null > "$work/verbose"
    seen="$(grep -c ',exec,cpu,rnn,' "$work/verbose" || true) rnn, $(grep -c ',exec,cpu,gemm_api,' "$work/verbose" || true) gemm_api, $(grep -c ',exec,cpu,inner_product,' "$work/verbose" || true) inner_product"
    echo "three calls of $layer, 20 time steps each: $seen"
    [ "$seen" = "0 rnn, ${case#*:} inner_product" ] || changed "$layer"
done
