#!/usr/bin/env bash
# Expected: a step of Adam is a kernel for each variable, ResourceApplyAdam, as it was; or its few lines
# of arithmetic become one, and the correction of the bias, a number for the whole step, is computed once.
# Seen: each variable costs 27 ops, two powers of the step's number and six reads of variables among
# them; in the legacy optimizer of tf-keras one, and nine for all. Where variables are small, what an op
# costs is its dispatch.
# Versions: tensorflow-cpu 2.21.0, keras 3.15.1, tf-keras 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0 keras==3.15.1 tf-keras==2.21.0

cat > "$work/program.py" <<'PYTHON'
import sys

import tensorflow as tf

count = 20
if sys.argv[1] == "keras":
    import keras

    variables = [keras.Variable(tf.zeros((4, 4))) for _ in range(count)]
    optimizer = keras.optimizers.Adam()
    optimizer.build(variables)
else:
    import tf_keras

    variables = [tf.Variable(tf.zeros((4, 4))) for _ in range(count)]
    optimizer = tf_keras.optimizers.legacy.Adam()
gradients = [tf.ones((4, 4))] * count


@tf.function
def update():
    optimizer.apply_gradients(zip(gradients, variables))


update()
print("the second call", file=sys.stderr, flush=True)
update()
PYTHON
for optimizer in keras legacy; do
    TF_CPP_MAX_VLOG_LEVEL=1 "$work/venv/bin/python" "$work/program.py" "$optimizer" 2>&1 | sed -n '/^the second call/,$p' |
        grep -oE 'Process node: .*\}\} = \w+' | sed 's/.* = //' | grep -vxE '_Arg|_Retval|NoOp|Const|Identity|IdentityN' > "$work/$optimizer"
    echo "$optimizer, 20 variables: $(wc -l < "$work/$optimizer") ops, $(grep -cx Pow "$work/$optimizer") Pow, $(grep -cx ReadVariableOp "$work/$optimizer") reads"
done
[ "$(grep -cx ResourceApplyAdam "$work/legacy")" = 20 ] || changed "the legacy optimizer has no fused kernel"
[ "$(wc -l < "$work/legacy")" -lt 40 ] || changed "the legacy optimizer runs more"
! grep -qx ResourceApplyAdam "$work/keras" || changed "Keras 3 has the fused kernel"
[ "$(grep -cx Pow "$work/keras")" = 40 ] || changed "the powers are computed once"
[ "$(wc -l < "$work/keras")" -gt 500 ] || changed "Keras 3 runs fewer ops"
