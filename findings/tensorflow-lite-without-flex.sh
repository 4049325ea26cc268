#!/usr/bin/env bash
# Expected: what TFLiteConverter makes with SELECT_TF_OPS, the Interpreter of the same package runs (the
# page on select ops says that the pip package has them), with a line about the Flex delegate.
# Seen: so it was up to 2.18. In 2.21 the same model is converted without a warning, and
# allocate_tensors() fails: the package has no Flex delegate any more.
# Versions: tensorflow-cpu 2.18.1, 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

cat > "$work/program.py" <<'PYTHON'
import numpy as np
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([4, 4], tf.float32)])
def multiply(x):
    return tf.math.cumprod(x)  # TFLite has no such op of its own


function = multiply.get_concrete_function()
converter = tf.lite.TFLiteConverter.from_concrete_functions([function], multiply)
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
model = converter.convert()
print("converted", flush=True)
try:
    interpreter = tf.lite.Interpreter(model_content=model)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.full((4, 4), 2, "float32"))
    interpreter.invoke()
    print("ran", interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[:, 0])
except RuntimeError as error:
    print("failed", str(error).partition(". ")[0])
PYTHON
for version in 2.18.1 2.21.0; do
    python3 -m venv "$work/$version"
    "$work/$version/bin/pip" install --quiet --no-compile --disable-pip-version-check "tensorflow-cpu==$version"
    "$work/$version/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
    sed "s/^/$version: /" "$work/log"
    grep -h 'FlexDelegate\|select TF ops' "$work/errors" || true
    grep -q '^converted' "$work/log" || changed "$version converts nothing"
    case $version in
        2.18.1) grep -q '^ran \[ *2. *4. *8. *16.\]' "$work/log" || changed "$version doesn't run it" ;;
        *) grep -q '^failed Select TensorFlow op' "$work/log" || changed "$version runs it" ;;
    esac
done
