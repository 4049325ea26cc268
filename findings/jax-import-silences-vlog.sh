#!/usr/bin/env bash
# Expected: what else a program imports doesn't matter to TensorFlow's log, as long as
# TF_CPP_MAX_VLOG_LEVEL is in the environment.
# Seen: "import jax" sets TF_CPP_MIN_LOG_LEVEL=1 where it isn't set, and a TensorFlow that is imported
# later prints no VLOG record: they are INFO. With TensorFlow first, or with TF_CPP_MIN_LOG_LEVEL=0 in
# the environment, they are printed. The order of two imports (sorted by a formatter, say) decides.
# Versions: tensorflow-cpu 2.21.0, jax 0.10.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0 jax==0.10.0

cat > "$work/program.py" <<'PYTHON'
import importlib
import sys

for module in sys.argv[1:]:
    importlib.import_module(module)
import tensorflow as tf

tf.matmul(tf.ones((2, 2)), tf.ones((2, 2)))
PYTHON
ops() { "$work/venv/bin/python" "$work/program.py" "$@" 2>&1 | grep -c 'Executing op' || true; }
export TF_CPP_MAX_VLOG_LEVEL=1
first=$(ops jax)
last=$(ops tensorflow jax)
told=$(TF_CPP_MIN_LOG_LEVEL=0 ops jax)
echo "records of ops: jax first $first, TensorFlow first $last, jax first with TF_CPP_MIN_LOG_LEVEL=0 $told"
[ "$first" = 0 ] || changed "jax first leaves VLOG alone"
[ "$last" -gt 0 ] || changed "TensorFlow first prints nothing"
[ "$told" = "$last" ] || changed "TF_CPP_MIN_LOG_LEVEL=0 doesn't help"
