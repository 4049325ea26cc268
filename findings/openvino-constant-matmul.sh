#!/usr/bin/env bash
# Expected: OpenVINO runs float32 matmuls in oneDNN, those by constant weights as inner_product; at
# most small ones are left out.
# Seen: a matmul by a constant matrix has no line, whatever its size. One by a constant with a batch
# dimension, and one of two inputs, is a matmul primitive.
# Versions: openvino 2026.4.1 (oneDNN 3.13.0)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check openvino==2026.4.1
cat > "$work/program.py" <<'PYTHON'
import numpy as np
import openvino as ov
import openvino.opset13 as op

rng = np.random.default_rng(0)


def constant(*shape):
    return op.constant(rng.random(shape, np.float32))


cases = {
    "constant-8x16": ([4, 8], lambda x: op.matmul(x, constant(8, 16), False, False)),
    "constant-512x512": ([512, 512], lambda x: op.matmul(x, constant(512, 512), False, False)),
    "constant-3d-source": ([4, 32, 64], lambda x: op.matmul(x, constant(64, 64), False, False)),
    "constant-batched": ([4, 32, 64], lambda x: op.matmul(x, constant(4, 64, 64), False, False)),
    "two-inputs": ([64, 64], lambda x: op.matmul(x, x, False, True)),
}
print(ov.__version__, flush=True)
for name, (shape, build) in cases.items():
    print("#", name, flush=True)
    x = op.parameter(shape, np.float32)
    model = ov.Model([build(x)], [x], "m")
    # without the hint, a CPU with bfloat16 computes in that type, in oneDNN
    compiled = ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    compiled(np.ones(shape, np.float32))
PYTHON
ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log"
head -n 1 "$work/log"
grep -o 'oneDNN v[0-9.]*' "$work/log"
# the products that ran below the heading $1
runs() {
    awk -v name="# $1" '/^# /{on = ($0 == name)} on' "$work/log" |
        grep -cE ',exec,cpu,(matmul|inner_product|gemm_api),' || true
}

for case in constant-8x16 constant-512x512 constant-3d-source constant-batched two-inputs; do
    echo "$case: $(runs $case)"
    wanted=0
    case $case in constant-batched | two-inputs) wanted=1 ;; esac
    [ "$(runs $case)" = $wanted ] || changed "$case"
done
