#!/usr/bin/env bash
# Expected: a process creates a primitive once for equal problems, whichever thread meets them, and
# ONEDNN_PRIMITIVE_CACHE_CAPACITY=0 makes each run create its primitive.
# Seen: neither. TensorFlow keeps primitives of its own in front of oneDNN's cache, and each thread
# has its own (thread_local in core/util/mkl_util.h): a new thread creates them again. oneDNN's cache
# makes that cheap; without it each thread creates in full, and still only once.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import threading

import tensorflow as tf

x = tf.ones((4, 64, 64))


def multiply():
    for _ in range(4):
        tf.linalg.matmul(x, x)


multiply()
for _ in range(3):
    thread = threading.Thread(target=multiply)
    thread.start()
    thread.join()
PYTHON
# creations, by whether oneDNN's cache had them, and runs
counts() {
    env TF_ENABLE_ONEDNN_OPTS=1 ONEDNN_VERBOSE=2 "$@" "$work/venv/bin/python" "$work/program.py" 2> /dev/null > "$work/verbose"
    echo "$(grep -c 'create:cache_miss,' "$work/verbose") missed, $(grep -c 'create:cache_hit,' "$work/verbose" || true) hit, $(grep -c ',exec,' "$work/verbose") runs"
}
cached=$(counts)
uncached=$(counts ONEDNN_PRIMITIVE_CACHE_CAPACITY=0)
echo "four threads, four runs each: $cached; without oneDNN's cache: $uncached"
[ "$cached" = "1 missed, 3 hit, 16 runs" ] || changed "with oneDNN's cache"
[ "$uncached" = "4 missed, 0 hit, 16 runs" ] || changed "without oneDNN's cache"
