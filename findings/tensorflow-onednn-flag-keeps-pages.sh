#!/usr/bin/env bash
# Expected: TF_ENABLE_ONEDNN_OPTS=1 changes nothing for a graph without an op that oneDNN has, and freed
# tensors are memory that the next op uses again.
# Seen: with 0 each call has some 20,000 page faults, which take more CPU time than the ops; with 1 a few.
# With 1 CPU tensors come from a pool (core/common_runtime/mkl_cpu_allocator.h), with 0 from malloc, and
# glibc maps large pieces for each op. MALLOC_ARENA_MAX=1, MALLOC_MMAP_MAX_=0 and MALLOC_TRIM_THRESHOLD_
# keep them: after some calls, in which the heap grows, no call has faults.
# Versions: tensorflow-cpu 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0
cat > "$work/program.py" <<'PYTHON'
from resource import RUSAGE_SELF, getrusage

import tensorflow as tf

values = tf.random.normal((10_000, 1_000))


@tf.function
def scale(x):
    deviation = tf.math.reduce_std(x, axis=1, keepdims=True)
    return tf.reduce_max(tf.abs(x - 1.0) / deviation)


for _ in range(40):
    scale(values).numpy()
before = getrusage(RUSAGE_SELF)
for _ in range(20):
    scale(values).numpy()
after = getrusage(RUSAGE_SELF)
kernel, own = after.ru_stime - before.ru_stime, after.ru_utime - before.ru_utime
print((after.ru_minflt - before.ru_minflt) // 20, "faults a call,", f"{kernel / (kernel + own):.0%} of CPU time in the kernel")
PYTHON
run() {
    echo "$1: $(env "${@:2}" "$work/venv/bin/python" "$work/program.py" 2> "$work/errors")"
}
keep=(MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184)
{
    run off TF_ENABLE_ONEDNN_OPTS=0
    run on TF_ENABLE_ONEDNN_OPTS=1
    run kept TF_ENABLE_ONEDNN_OPTS=0 MALLOC_ARENA_MAX=1 "${keep[@]}"
} | tee "$work/seen"
grep -qE '^off: [0-9]{5} faults' "$work/seen" || changed "memory is used again without the flag"
grep -qE '^on: [0-9]{1,3} faults' "$work/seen" || changed "the flag keeps no memory"
grep -qE '^kept: [0-9]{1,3} faults' "$work/seen" || changed "malloc can't be told to keep it"
