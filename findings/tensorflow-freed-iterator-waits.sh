#!/usr/bin/env bash
# Expected: freeing an iterator of tf.data that is idle takes milliseconds.
# Seen: about one in seven waits without CPU time until the next round of autotuning, whose period
# doubles from 10 ms to 60 s: 6 s old iterators until they are 10.2 s old, older ones longer (20 s seen).
# The destructor cancels the tuning thread; the callback wakes it before the manager says cancelled
# (StartCancel in core/framework/cancellation.cc), so a quick thread sleeps again (OptimizeLoop in
# core/framework/model.cc), and the destructor waits for it. With autotune.enabled = False none waits.
# Versions: tensorflow-cpu 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0
cat > "$work/program.py" <<'PYTHON'
import os
import sys
import time

import tensorflow as tf

data = tf.data.Dataset.range(24).shuffle(24).batch(1).prefetch(2)
options = tf.data.Options()
options.autotune.enabled = sys.argv[1] == "on"
iterators = []
for _ in range(60):
    iterator = iter(data.with_options(options))
    next(iterator)
    iterators.append((time.perf_counter(), iterator))
del iterator
time.sleep(6)
longest = age = used = 0.0
while iterators and longest < 1:
    made, iterator = iterators.pop()
    since, cpu = time.perf_counter(), time.process_time()
    del iterator
    now = time.perf_counter()
    if now - since > longest:
        longest, age, used = now - since, now - made, time.process_time() - cpu
print(f"{longest:.1f} s, CPU time {used:.1f} s, freed at the age of {age:.1f} s", flush=True)
os._exit(0)  # those that are left would wait, too
PYTHON
for tuned in on off; do
    echo "$tuned: $("$work/venv/bin/python" "$work/program.py" "$tuned" 2> "$work/errors")"
done | tee "$work/seen"
grep -qE '^on: [2-5]\.[0-9] s, CPU time 0\.[0-2] s, freed at the age of 10\.[0-9] s$' "$work/seen" || changed "autotuning delays nothing"
grep -qE '^off: 0\.' "$work/seen" || changed "one waits without autotuning"
