#!/usr/bin/env bash
# Expected: a function runs in a worker of joblib as it does here: tf.function reads its source, so
# `if` on a tensor becomes tf.cond, and a traceback names the file.
# Seen: cloudpickle, by which joblib's workers get functions of the program, sends code under the file
# name `<dynamic-code>`. AutoGraph can't find the source, only warns, and leaves `if` as it is, which
# raises. Line numbers stay right. A pool of multiprocessing, which imports the program, does well.
# Versions: joblib 1.6.0, cloudpickle 3.1.3, loky 3.7.0, tensorflow-cpu 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0 joblib==1.6.0 cloudpickle==3.1.3 loky==3.7.0

cat > "$work/program.py" <<'PYTHON'
import multiprocessing
import sys

import tensorflow as tf
from joblib import Parallel, delayed


def positive(x):
    if tf.reduce_sum(x) > 0:
        return x
    return -x


def call(value):
    file = positive.__code__.co_filename.rpartition("/")[2]
    try:
        return file, float(tf.function(positive)(tf.constant(value)))
    except tf.errors.OperatorNotAllowedInGraphError as error:
        return file, type(error).__name__


if __name__ == "__main__":
    if sys.argv[1] == "here":
        seen = call(-2.0)
    elif sys.argv[1] == "joblib":
        [seen] = Parallel(n_jobs=2)([delayed(call)(-2.0)])
    else:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            [seen] = pool.map(call, [-2.0])
    print(*seen)
PYTHON
for run in "here:program.py 2.0" "multiprocessing:program.py 2.0" "joblib:<dynamic-code> OperatorNotAllowedInGraphError"; do
    seen=$("$work/venv/bin/python" "$work/program.py" "${run%%:*}" 2> "$work/errors")
    echo "${run%%:*}: $seen"
    [ "$seen" = "${run#*:}" ] || changed "$run"
done
grep -q 'Unable to locate the source code of <function positive' "$work/errors" || changed "AutoGraph's warning"
