#!/usr/bin/env bash
# Expected: with oneDNN in the build, each float32 convolution on the CPU is a line of ONEDNN_VERBOSE.
# Seen: a batch of 1 with a small image and a 3 x 3 kernel runs PyTorch's own code and prints nothing.
# A batch of 2, a 5 x 5 kernel, groups, or a larger image run in oneDNN. The log of a server that
# answers single small requests is empty, its training log is not.
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

def convolve(name, batch, size, kernel, groups=1):
    print("#", name, flush=True)
    F.conv2d(torch.randn(batch, 4, size, size), torch.randn(4, 4 // groups, kernel, kernel), groups=groups)


convolve("single", 1, 8, 3)
convolve("pair", 2, 8, 3)
convolve("kernel", 1, 8, 5)
convolve("groups", 1, 8, 3, groups=2)
convolve("large", 1, 128, 3)
PYTHON
ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
# the primitives of one kind ($2) below the heading $1
runs() {
    awk -v name="# $1" '/^# /{on = ($0 == name)} on' "$work/log" | grep -c ",exec,cpu,$2," || true
}

for case in single pair kernel groups large; do
    echo "$case: $(runs $case convolution)"
    wanted=1
    [ $case != single ] || wanted=0
    [ "$(runs $case convolution)" = $wanted ] || changed "$case"
done
