#!/usr/bin/env bash
# Expected: a time with six digits (0.00292969 ms) is as exact as it looks, from a steady clock with
# nanoseconds.
# Seen: each time is a multiple of 1/4096 ms (244 ns). A double that holds the ms since 1970 has steps
# of that size, so the time seems to be the difference of two (inferred, not read in the source). A
# primitive below that takes 0 or one step; sums over many short ones are off.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import tensorflow as tf

for size in range(1, 120):
    a = tf.ones((size, size))
    tf.matmul(a, a)
PYTHON
ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" 2> "$work/errors" > "$work/log"
"$work/venv/bin/python" - "$work/log" <<'PYTHON'
import sys

lines = [line for line in open(sys.argv[1]) if ",exec,cpu," in line]
times = [float(line.rsplit(",", 1)[1]) for line in lines]
exact = [time for time in times if time < 0.2]  # the six digits hold a step of 1/4096 there
stepped = [time for time in exact if abs(time * 4096 - round(time * 4096)) < 0.02]
print(f"{len(stepped)} of {len(exact)} times are multiples of 1/4096 ms, the least is {min(exact)}")
sys.exit(len(exact) < 40 or len(stepped) < len(exact))
PYTHON
