#!/usr/bin/env bash
# Expected: what a tf.function computes twice from the same values runs once: grappler removes common
# subexpressions, and nothing assigns the weights in between.
# Seen: it does so for a constant. Each use of a variable has a ReadVariableOp of its own, which grappler
# doesn't merge, so two products by one variable are two products. They merge once the program reads
# the variable itself and uses that tensor twice, or once the model is frozen.
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

value = tf.random.normal((256, 256))
variable, constant = tf.Variable(value), tf.constant(value.numpy())


@tf.function
def twice(x):
    if sys.argv[1] == "constant":
        one = other = constant
    elif sys.argv[1] == "read":
        one = other = variable.read_value()
    else:
        one = other = variable
    return tf.nn.relu(x @ one) + 2.0 * (x @ other)


x = tf.random.normal((256, 256))
for _ in range(5):
    twice(x)
PYTHON
for case in "constant:5" "variable:10" "read:5"; do
    seen=$(TF_ENABLE_ONEDNN_OPTS=1 ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" "${case%%:*}" 2> /dev/null | grep -c ',exec,cpu,gemm_api,\|,exec,cpu,matmul,\|,exec,cpu,inner_product,')
    echo "${case%%:*}: $seen products in 5 calls"
    [ "$seen" = "${case#*:}" ] || changed "${case%%:*}"
done
