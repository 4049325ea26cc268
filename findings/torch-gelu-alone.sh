#!/usr/bin/env bash
# Expected: eager activations are PyTorch's own vectorized loops; oneDNN runs none of them, or all
# that it has.
# Seen: the exact GELU of a dense float32 tensor is an eltwise primitive. ReLU, SiLU, sigmoid, tanh
# and the GELU with approximate="tanh" are none, though oneDNN has each of these, and neither is the
# GELU of a transposed tensor.
# Versions: torch 2.13.0 (oneDNN 3.12.0)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check torch==2.13.0
cat > "$work/program.py" <<'PYTHON'
import torch
from torch.nn import functional as F

x = torch.randn(9, 4)
cases = {
    "gelu": lambda: F.gelu(x),
    "gelu-tanh": lambda: F.gelu(x, approximate="tanh"),
    "gelu-transposed": lambda: F.gelu(x.t()),
    "relu": lambda: F.relu(x),
    "silu": lambda: F.silu(x),
    "sigmoid": lambda: torch.sigmoid(x),
    "tanh": lambda: torch.tanh(x),
}
for name, run in cases.items():
    print("#", name, flush=True)
    run()
PYTHON
ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
# the primitives of one kind ($2) below the heading $1
runs() {
    awk -v name="# $1" '/^# /{on = ($0 == name)} on' "$work/log" | grep -c ",exec,cpu,$2," || true
}

for case in gelu gelu-tanh gelu-transposed relu silu sigmoid tanh; do
    echo "$case: $(runs $case eltwise)"
    wanted=0
    [ $case != gelu ] || wanted=1
    [ "$(runs $case eltwise)" = $wanted ] || changed "$case"
done
