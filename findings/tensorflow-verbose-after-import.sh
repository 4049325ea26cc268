#!/usr/bin/env bash
# Expected: logging variables are read as the library is loaded, so all of them have to be set before
# "import tensorflow".
# Seen: ONEDNN_VERBOSE is read at the first primitive and works if set after the import.
# TF_CPP_MAX_VLOG_LEVEL set on the same line of Python does nothing, and the log has oneDNN's lines
# without TensorFlow's.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import os

import tensorflow as tf

os.environ.update(ONEDNN_VERBOSE="1", TF_CPP_MAX_VLOG_LEVEL="1")
a = tf.ones((8, 8))
tf.matmul(a, a)
PYTHON
late=$("$work/venv/bin/python" "$work/program.py" 2>&1)
early=$(TF_CPP_MAX_VLOG_LEVEL=1 "$work/venv/bin/python" "$work/program.py" 2>&1)
grep onednn_verbose <<< "$late" || changed "oneDNN prints nothing"
grep -q 'Executing op MatMul\|Executing op _MklMatMul' <<< "$early" || changed "no VLOG record of MatMul"
! grep 'Executing op' <<< "$late" || changed "VLOG can be turned on after the import"
