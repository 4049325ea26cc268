#!/usr/bin/env bash
# Expected: the bias of a linear layer is bia: in its oneDNN matmul, as in inner products and
# convolutions, and attr-post-ops:sum is a residual that was fused into it.
# Seen: it is the other way round. No matmul of eager PyTorch has bia:; the bias is copied into the
# result and added to by attr-post-ops:sum. A residual addition is never fused.
# Versions: torch 2.13.0 (oneDNN 3.12.0), on a CPU with AVX-512
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check torch==2.13.0
cat > "$work/program.py" <<'PYTHON'
import torch

x = torch.randn(64, 128, dtype=torch.bfloat16)
layer = torch.nn.Linear(128, 128, dtype=torch.bfloat16)
without = torch.nn.Linear(128, 128, bias=False, dtype=torch.bfloat16)
cases = {
    "bias": lambda: layer(x),
    "bias-of-3-dimensions": lambda: layer(x.reshape(4, 16, 128)),
    "no-bias": lambda: without(x),
    "residual": lambda: x + without(x),
}
with torch.inference_mode():
    for name, run in cases.items():
        print("#", name, flush=True)
        run()
PYTHON
# the same kernels on each CPU with AVX-512: PyTorch has no bfloat16 in oneDNN below it
ONEDNN_MAX_CPU_ISA=AVX512_CORE ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
while read -r case wanted; do
    line=$(awk -v name="# $case" '/^# /{on = ($0 == name)} on' "$work/log" | grep ',exec,cpu,')
    echo "$case: $line"
    [ "$(wc -l <<< "$line")" = 1 ] || changed "$case is more than one primitive"
    grep -q ',exec,cpu,matmul,' <<< "$line" || changed "$case is no matmul"
    ! grep -q 'bia:' <<< "$line" || changed "$case has a bias"
    seen=$(grep -o 'attr-post-ops:[a-z]*' <<< "$line" || echo none)
    [ "$seen" = "$wanted" ] || changed "$case has $seen"
done <<'CASES'
bias attr-post-ops:sum
bias-of-3-dimensions attr-post-ops:sum
no-bias none
residual none
CASES
