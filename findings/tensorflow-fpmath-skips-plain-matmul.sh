#!/usr/bin/env bash
# Expected: ONEDNN_DEFAULT_FPMATH_MODE=BF16 (or TF_SET_ONEDNN_FPMATH_MODE=BF16) lets oneDNN multiply all
# float32 matrices of TensorFlow as bfloat16, or none.
# Seen: it depends on what follows, and on the rank of the input. A product of two matrices calls
# oneDNN's sgemm (core/kernels/mkl/mkl_matmul_op.cc), which has no such mode: gemm_api without
# attr-fpmath. The same product with a bias in a graph is an inner_product, that of tensors of rank 3 a
# matmul, and both have it. So Dense without a bias stays in float32, as each eager tf.matmul of matrices.
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

a, bias = tf.ones((64, 64)), tf.ones(64)
products = {
    "plain": lambda a: tf.matmul(a, a),
    "biased": lambda a: tf.nn.bias_add(tf.matmul(a, a), bias),
    "batch": lambda a: tf.matmul(a[None], a[None]),
}
tf.function(products[sys.argv[1]])(a)
PYTHON
# primitive and whether it has the mode, of the products of a program
ran() {
    env TF_ENABLE_ONEDNN_OPTS=1 ONEDNN_VERBOSE=1 "$1=BF16" "$work/venv/bin/python" "$work/program.py" "$2" 2> /dev/null |
        awk -F, '/,exec,.*(matmul|gemm_api|inner_product)/ { print $6, ($0 ~ /attr-fpmath:bf16/ ? "bf16" : "f32") }' | sort -u | paste -sd+
}
for variable in ONEDNN_DEFAULT_FPMATH_MODE TF_SET_ONEDNN_FPMATH_MODE; do
    seen="$(ran $variable plain), $(ran $variable biased), $(ran $variable batch)"
    echo "$variable=BF16: plain, biased, batch: $seen"
    [ "$seen" = "gemm_api f32, inner_product bf16, matmul bf16" ] || changed "$variable"
done
