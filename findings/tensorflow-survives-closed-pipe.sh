#!/usr/bin/env bash
# Expected: "python train.py 2>&1 | head -100" is a short look at a log: once head has its lines,
# SIGPIPE ends the program, as it ends other commands.
# Seen: Python ignores SIGPIPE, and TensorFlow and oneDNN ignore that their writes fail. The program
# runs to its end, formats each record for nobody, and exits with 0. So it does behind "grep -m1",
# "less" that was left, and a tee whose disk is full: the log just stops. Only a print() of Python
# ends it, with status 1.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import sys

import tensorflow as tf

a = tf.ones((8, 8))
for step in range(500):
    tf.matmul(a, a)
if sys.argv[2:] == ["print"]:
    print("a line", flush=True)
with open(sys.argv[1], "w") as file:
    file.write(f"{step + 1} steps")
PYTHON
export TF_CPP_MAX_VLOG_LEVEL=2 ONEDNN_VERBOSE=1
# the program's exit status and what it did, behind a reader of three lines
cut_off() {
    rm -f "$work/done"
    set +o pipefail
    ( set +e; "$work/venv/bin/python" "$work/program.py" "$work/done" "$@" 2>&1; echo $? > "$work/status" ) | head -3 > "$work/log"
    set -o pipefail
    while [ ! -s "$work/status" ]; do sleep 0.1; done
    echo "$(wc -l < "$work/log") lines read, status $(cat "$work/status"), $(cat "$work/done" 2> /dev/null || echo ended before)"
    rm "$work/status"
}
silent=$(cut_off)
prints=$(cut_off print)
echo "TensorFlow's and oneDNN's lines alone: $silent"
echo "with a print at the end: $prints"
[ "$silent" = "3 lines read, status 0, 500 steps" ] || changed "it ends as its reader does"
[ "$prints" = "3 lines read, status 1, ended before" ] || changed "a print doesn't fail"
