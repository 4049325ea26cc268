#!/usr/bin/env bash
# Expected: a pipeline of tf.data has a prefetch where the program wrote one. Without it an element is
# made when the loop asks for it, so a generator is as far as the loop.
# Seen: TensorFlow puts a Prefetch behind the last stage (inject_prefetch, on since 2.11). A generator
# is an element ahead, a batch ahead if it is batched, and runs beside the loop: what it changes, the
# loop sees early. The log has no PrefetchDataset among the eager ops, yet iterates over Prefetch. A map
# at the end is made parallel instead, and then nothing is put behind it.
# Versions: tensorflow-cpu 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0
cat > "$work/program.py" <<'PYTHON'
import sys
import time

import tensorflow as tf

made = 0


def numbers():
    global made
    for number in range(20):
        made += 1
        yield number


data = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int64))
options = tf.data.Options()
for argument in sys.argv[1:]:
    if argument == "off":
        options.experimental_optimization.inject_prefetch = False
    else:
        data = data.batch(2) if argument == "batch" else data.map(lambda x: x + 1)
for _ in data.with_options(options):
    time.sleep(2)
    break
print(made)
PYTHON
# how many elements the generator made while the loop had one; what is said of a prefetch
for case in "" off batch "batch off" map; do
    # shellcheck disable=SC2086 # two arguments
    made=$(TF_CPP_MAX_VLOG_LEVEL=2 "$work/venv/bin/python" "$work/program.py" $case 2> "$work/log")
    eager=$(grep -c 'Executing op PrefetchDataset' "$work/log" || true)
    iterated=$(grep -c '::Prefetch constructor$' "$work/log" || true)
    echo "${case:-generator}: $made elements made, $eager PrefetchDataset, $iterated Prefetch"
    case $case in
        "") wanted="2 0 1" ;;
        off) wanted="1 0 0" ;;
        batch) wanted="4 0 1" ;;
        "batch off") wanted="2 0 0" ;;
        map) wanted="$made 0 0" ;;
    esac
    [ "$made $eager $iterated" = "$wanted" ] || changed "$case: $made $eager $iterated"
done
