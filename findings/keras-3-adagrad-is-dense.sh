#!/usr/bin/env bash
# Expected: Adagrad, whose accumulators change only where a gradient is, updates the rows of a table
# that a batch read, as SGD does. (Adam is known to decay all rows.)
# Seen: it did in tf.keras 2.13, which gathers the accumulators' rows. Keras 3 with TensorFlow adds the
# sparse gradient sparsely, but takes the square root of the whole accumulator, and looks through it for
# zeros and NaNs to divide by: a step takes dozens of times as long with 200,000 rows as with 2,000.
# Versions: tensorflow-cpu 2.13.1, 2.21.0, keras 3.15.1
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

cat > "$work/program.py" <<'PYTHON'
import time

import tensorflow as tf

rows = tf.range(256)
for size in (2_000, 200_000):
    table, optimizer = tf.Variable(tf.ones((size, 64))), tf.keras.optimizers.Adagrad()
    optimizer.build([table])

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, rows))
        optimizer.apply_gradients(zip(tape.gradient(loss, [table]), [table]))

    step()
    times = []
    for _ in range(15):
        since = time.perf_counter()
        step()
        times.append(time.perf_counter() - since)
    outputs = [tensor for operation in step.get_concrete_function().graph.get_operations() for tensor in operation.outputs]
    dense = sorted({tensor.op.type for tensor in outputs if tensor.shape.as_list() == [size, 64]})
    print(size, f"{1e6 * min(times):.0f}", *dense)
PYTHON
for packages in "tensorflow-cpu==2.13.1" "tensorflow-cpu==2.21.0 keras==3.15.1"; do
    python3 -m venv --clear "$work/venv"
    # shellcheck disable=SC2086 # two arguments
    "$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check $packages
    "$work/venv/bin/python" "$work/program.py" 2> "$work/errors" > "$work/seen"
    awk -v packages="$packages" '{ printf "%s, %d rows: %.1f ms a step; as large as the table:", packages, $1, $2 / 1000
        for (i = 3; i <= NF; i++) printf " %s", $i; print (NF > 2 ? "" : " nothing") }' "$work/seen"
    larger=$(awk 'NR == 1 { small = $2 } END { print ($2 > 5 * small) }' "$work/seen")
    dense=$(grep -c Sqrt "$work/seen" || true)
    case $packages in
        *2.13.1) [ "$larger $dense" = "0 0" ] || changed "dense in tf.keras 2.13" ;;
        *) [ "$larger $dense" = "1 2" ] || changed "sparse in Keras 3" ;;
    esac
done
