#!/usr/bin/env bash
# Expected: set_float32_matmul_precision("medium") concerns GPUs alone, as its page says ("currently
# only affects one native device type: CUDA"), and attr-fpmath:bf16 in a oneDNN line means that
# float32 was multiplied as bfloat16.
# Seen: with "medium" matmuls and linear layers on the CPU leave oneMKL for oneDNN, with
# attr-fpmath:bf16. On a CPU with AMX the result loses digits; without bfloat16 instructions the
# line is the same, and the result is that of float32. "high" changes nothing, and convolutions stay
# as they are.
# Versions: torch 2.13.0 (oneDNN 3.12.0), on a CPU with AVX-512
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check torch==2.13.0
cat > "$work/program.py" <<'PYTHON'
import torch

images, convolution = torch.randn(8, 16, 32, 32), torch.nn.Conv2d(16, 16, 3)
a, linear = torch.randn(64, 128), torch.nn.Linear(128, 128)
results = {}
with torch.no_grad():
    for precision in ("highest", "high", "medium"):
        torch.set_float32_matmul_precision(precision)
        print("#", precision, flush=True)
        results[precision] = torch.mm(a, linear.weight)
        linear(a)
        convolution(images)
error = (results["medium"] - results["highest"]).abs().max() / results["highest"].abs().max()
print("same result" if error < 1e-5 else "other result")
PYTHON
# AVX512_CORE has no instructions for bfloat16
ONEDNN_MAX_CPU_ISA=AVX512_CORE ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
# the primitives of one kind ($2) below the heading $1
runs() {
    awk -v name="# $1" '/^# /{on = ($0 == name)} on' "$work/log" | grep -c ",exec,cpu,$2,.*$3" || true
}
for precision in highest high medium; do
    echo "$precision: $(runs $precision matmul '') matmuls, $(runs $precision convolution '') convolution"
done
grep ',exec,cpu,matmul,' "$work/log" || true
tail -1 "$work/log"
[ "$(runs highest matmul '') $(runs high matmul '')" = "0 0" ] || changed "float32 matmuls run in oneDNN"
[ "$(runs medium matmul attr-fpmath:bf16)" = 2 ] || changed "medium does nothing on the CPU"
[ "$(runs medium convolution attr-fpmath)" = 0 ] || changed "medium concerns convolutions"
[ "$(tail -1 "$work/log")" = "same result" ] || changed "it is computed as bfloat16"
