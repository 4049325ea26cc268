#!/usr/bin/env bash
# Expected: fit over a tf.data.Dataset makes one iterator, or one an epoch.
# Seen: two an epoch, one of which nobody reads: TFEpochIterator makes one when an epoch ends and again
# when it begins. Each optimizes the pipeline's graph and instantiates its functions anew, so eight
# epochs of six short steps take several times as long as with .repeat() and steps_per_epoch, which
# make one iterator for all epochs.
# Versions: tensorflow-cpu 2.21.0, keras 3.15.1
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0 keras==3.15.1
cat > "$work/program.py" <<'PYTHON'
import sys
import time

import tensorflow as tf


def features(i):
    x = tf.random.stateless_normal((16, 32), tf.stack([i, i]))
    for _ in range(30):
        x = tf.sin(x) * tf.exp(-x * x)
    return x, tf.ones((16, 1))


data = tf.data.Dataset.range(6).map(features).prefetch(2)
model = tf.keras.Sequential([tf.keras.Input((32,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(data, verbose=0)
print("begin", file=sys.stderr, flush=True)
begin = time.perf_counter()
if sys.argv[1] == "epochs":
    model.fit(data, epochs=8, verbose=0)
else:
    model.fit(data.repeat(), epochs=8, steps_per_epoch=6, verbose=0)
print(f"took {time.perf_counter() - begin:.3f} s", file=sys.stderr, flush=True)
PYTHON
iterators() { sed -n '/^begin$/,$p' "$1" | grep -c 'Executing op MakeIterator' || true; }
took() { sed -n 's/^took \(.*\) s$/\1/p' "$1"; }
for kind in epochs steps; do
    TF_CPP_MIN_LOG_LEVEL=2 "$work/venv/bin/python" "$work/program.py" "$kind" 2> "$work/$kind.clock"
    TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_VMODULE=execute=1 "$work/venv/bin/python" "$work/program.py" "$kind" 2> "$work/$kind.log"
    echo "$kind: $(iterators "$work/$kind.log") iterators, $(took "$work/$kind.clock") s"
done
[ "$(iterators "$work/epochs.log")" = 16 ] || changed "eight epochs make another number of iterators"
[ "$(iterators "$work/steps.log")" = 1 ] || changed "steps_per_epoch makes more than one"
awk -v a="$(took "$work/epochs.clock")" -v b="$(took "$work/steps.clock")" 'BEGIN { exit !(a > 1.5 * b) }' || changed "iterators take less"
