#!/usr/bin/env bash
# Expected: a step of plain SGD over an Embedding reads and writes the rows of its batch, however many
# rows the table has.
# Seen: the update is sparse (ResourceScatterSub), but the layer reads its table as a tensor
# (ReadVariableOp, GatherV2 in place of ResourceGather), and a variable that a scatter op has updated
# is copied by each read. So each step copies the whole table: a hundred times as long for 200,000 rows.
# tf.nn.embedding_lookup of the layer's variable gathers from the variable itself, and copies nothing.
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

import keras
import tensorflow as tf

rows = tf.range(256)
for by_layer in (True, False):
    for size in (2_000, 200_000):
        layer, optimizer = keras.layers.Embedding(size, 64), keras.optimizers.SGD()
        layer.build(())
        optimizer.build(layer.trainable_variables)
        table = layer.embeddings.value

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                vectors = layer(rows) if by_layer else tf.nn.embedding_lookup(table, rows)
                loss = tf.reduce_sum(vectors)
            optimizer.apply_gradients(zip(tape.gradient(loss, [table]), layer.trainable_variables))

        step()
        times = []
        for _ in range(15):
            since = time.perf_counter()
            step()
            times.append(time.perf_counter() - since)
        ops = {operation.type for operation in step.get_concrete_function().graph.get_operations()}
        seen = ops & {"GatherV2", "ResourceGather", "ResourceScatterSub", "UnsortedSegmentSum"}
        print("layer" if by_layer else "lookup", size, f"{1e6 * min(times):.0f}", *sorted(seen))
PYTHON
"$work/venv/bin/python" "$work/program.py" 2> "$work/errors" > "$work/seen"
awk '{ printf "%s, %d rows: %.1f ms a step,", $1, $2, $3 / 1000; for (i = 4; i <= NF; i++) printf " %s", $i; print "" }' "$work/seen"
time_of() { awk -v how="$1" -v size="$2" '$1 == how && $2 == size { print $3 }' "$work/seen"; }
[ "$(cut -d' ' -f1,4- "$work/seen" | uniq | tr '\n' ';')" = "layer GatherV2 ResourceScatterSub;lookup ResourceGather ResourceScatterSub;" ] || changed "other ops"
[ "$(time_of layer 200000)" -gt "$((8 * $(time_of lookup 200000)))" ] || changed "the layer is as quick as the lookup"
[ "$(time_of layer 200000)" -gt "$((5 * $(time_of layer 2000)))" ] || changed "the layer's step doesn't grow with the table"
