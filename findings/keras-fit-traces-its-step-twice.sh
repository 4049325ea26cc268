#!/usr/bin/env bash
# Expected: the first batch of `fit` traces the training step once, whatever optimizer and metrics are.
# Seen: twice, and what the first trace gave is thrown away, if the step makes a variable when it is first
# traced: an optimizer with slots does (Adam), and so does a compiled metric. Plain SGD doesn't, and
# Adam doesn't any more after optimizer.build(model.trainable_variables): half of the tracing. A
# metric's variables can't be made before. (tf.keras 2.13 traces twice with SGD as well.)
# Versions: tensorflow-cpu 2.13.1, 2.21.0, keras 3.15.1
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

cat > "$work/program.py" <<'PYTHON'
import keras
import numpy as np

traced = 0


class Layer(keras.layers.Dense):
    def call(self, inputs, training=None):
        global traced
        traced += training is True
        return super().call(inputs)


x, y = np.zeros((64, 8), "float32"), np.zeros((64, 1), "float32")
seen = []
for optimizer, metrics, built in (("sgd", [], 0), ("sgd", ["mae"], 0), ("adam", [], 0), ("adam", [], 1)):
    model = keras.Sequential([keras.Input((8,)), Layer(4), keras.layers.Dense(1)])
    model.compile(optimizer, "mse", metrics=metrics)
    if built:
        model.optimizer.build(model.trainable_variables)
    traced = 0
    model.fit(x, y, batch_size=16, epochs=2, verbose=0)
    seen.append(f"{optimizer}{' with a metric' * bool(metrics)}{' built' * built} {traced}")
print(", ".join(seen))
PYTHON
for case in "2.21.0 keras==3.15.1:sgd 1, sgd with a metric 2, adam 2, adam built 1" \
    "2.13.1 numpy<2:sgd 2, sgd with a metric 2, adam 2, adam built 1"; do
    versions=${case%%:*} venv="$work/venv-${case%% *}"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --no-compile --disable-pip-version-check "tensorflow-cpu==${versions%% *}" "${versions#* }"
    seen=$("$venv/bin/python" "$work/program.py" 2> /dev/null)
    echo "tensorflow-cpu ${versions%% *}: times that the step was traced: $seen"
    [ "$seen" = "${case#*:}" ] || changed "${versions%% *}"
done
