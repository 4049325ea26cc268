#!/usr/bin/env bash
# Expected: Keras imports the library of its backend. Whoever never imports jax isn't concerned by what
# it does to TensorFlow's log.
# Seen: Keras 3.15 imports jax with each backend if it is installed. With another backend than
# TensorFlow's, "import keras; import tensorflow" (for tf.data) shows no VLOG record, since jax is in
# front. With jax uninstalled, or TensorFlow imported first, all are there.
# Versions: keras 3.15.1, tensorflow-cpu 2.21.0, jax 0.10.2, openvino 2026.4.1 as the other backend
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check \
    tensorflow-cpu==2.21.0 keras==3.15.1 openvino==2026.4.1 jax==0.10.2 jaxlib==0.10.2
cat > "$work/program.py" <<'PYTHON'
import importlib
import sys

for name in sys.argv[1:]:
    importlib.import_module(name)
print("jax imported" if "jax" in sys.modules else "jax not imported")
tf = sys.modules["tensorflow"]
for _ in tf.data.Dataset.range(3):
    pass
PYTHON
# $1: the backend; then what is imported
records() {
    local backend=$1
    shift
    imported=$(KERAS_BACKEND=$backend TF_CPP_MAX_VLOG_LEVEL=1 "$work/venv/bin/python" "$work/program.py" "$@" 2> "$work/log")
    count=$(grep -c 'Executing op' "$work/log" || true)
    echo "$backend, $*: $imported, $count records of eager ops"
}
records tensorflow keras tensorflow
[ "$imported" = "jax imported" ] && [ "$count" -gt 0 ] || changed "TensorFlow's backend"
records openvino keras tensorflow
[ "$imported" = "jax imported" ] && [ "$count" = 0 ] || changed "another backend"
records openvino tensorflow keras
[ "$count" -gt 0 ] || changed "TensorFlow first"
"$work/venv/bin/pip" uninstall --quiet --yes jax jaxlib
echo "jax uninstalled"
records openvino keras tensorflow
[ "$imported" = "jax not imported" ] && [ "$count" -gt 0 ] || changed "without jax"
