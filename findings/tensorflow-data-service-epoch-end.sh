#!/usr/bin/env bash
# Expected: an epoch over tf.data's service ends as soon as its workers have no more elements: the
# client asked for one more, and the worker says so.
# Seen: the client hears of the end from the dispatcher, which it asks once a second. The last
# next() of each epoch waits for up to that second, however few elements there are: epochs of
# milliseconds take one second each. distribute() has no argument for the interval; its private
# task_refresh_interval_hint_ms shows the cause. One epoch of data.repeat(), and steps counted by
# the program, waits once.
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
from tensorflow.python.data.experimental.ops import data_service_ops

service = tf.data.experimental.service
dispatcher = service.DispatchServer()
address = dispatcher.target.split("://")[1]
worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
distribute, asks = service.distribute, {}
if sys.argv[1:]:
    distribute = data_service_ops._distribute
    asks = {"task_refresh_interval_hint_ms": int(sys.argv[1])}
data = tf.data.Dataset.range(8).apply(distribute("parallel_epochs", dispatcher.target, **asks))
longest, last = [], []
for _ in range(4):
    since, waits = time.perf_counter(), []
    iterator = iter(data)
    while next(iterator, None) is not None:
        now = time.perf_counter()
        since, waits = now, [*waits, now - since]
    longest.append(max(waits))
    last.append(time.perf_counter() - since)
longest, last = (sorted(times)[len(times) // 2] for times in (longest, last))
print(f"longest wait for an element {1000 * longest:.0f} ms, for the end {1000 * last:.0f} ms")
PYTHON
waits() { timeout 60 "$work/venv/bin/python" "$work/program.py" "$@" 2> "$work/errors"; }
slow=$(waits)
quick=$(waits 20)
echo "by default: $slow"
echo "asked every 20 ms: $quick"
[ "$(sed 's/.*end \([0-9]*\) ms/\1/' <<< "$slow")" -gt 500 ] || changed "the end comes at once"
[ "$(sed 's/.*end \([0-9]*\) ms/\1/' <<< "$quick")" -lt 300 ] || changed "the end comes late if asked often"
