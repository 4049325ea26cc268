#!/usr/bin/env bash
# Expected: a map of tf.data without num_parallel_calls computes its elements one after the other,
# as the API's page says, and the log has MapDataset.
# Seen: the eager op is MapDataset, and what iterates is ParallelMapV2: TensorFlow parallelizes a
# map without state (map_parallelization), with as many calls at once as there are processors. One
# random number, lookup table, variable or py_function in the map, and all of it is sequential again.
# Versions: tensorflow-cpu 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import sys

import tensorflow as tf

keys = tf.range(8, dtype=tf.int64)
table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, keys), 0)
variable = tf.Variable(2, dtype=tf.int64)
maps = {
    "plain": lambda x: x * 2,
    "random": lambda x: x + tf.random.uniform([], maxval=2, dtype=tf.int64),
    "table": table.lookup,
    "variable": lambda x: x * variable,
    "python": lambda x: tf.py_function(lambda y: y * 2, [x], tf.int64),
}
data = tf.data.Dataset.range(8).map(maps[sys.argv[1]])
options = tf.data.Options()
if sys.argv[2:] == ["off"]:
    options.experimental_optimization.map_parallelization = False
for _ in data.with_options(options):
    pass
PYTHON
# what an eager op made, and what iterates over it
stages() {
    TF_CPP_MAX_VLOG_LEVEL=2 "$work/venv/bin/python" "$work/program.py" "$@" > "$work/log" 2>&1
    grep -oE 'Executing op [A-Za-z]*MapDataset[A-Z0-9a-z]*|::[A-Za-z]*Map[V0-9]* constructor$' "$work/log" |
        sed 's/Executing op //; s/:://; s/ constructor//' | sort -u | paste -sd,
}
for case in plain "plain off" random table variable python; do
    # shellcheck disable=SC2086 # two arguments
    seen=$(stages $case)
    echo "$case: $seen"
    case $case in
        plain) [ "$seen" = MapDataset,ParallelMapV2 ] || changed "a plain map" ;;
        *) [ "$seen" = Map,MapDataset ] || changed "a map, $case" ;;
    esac
done
