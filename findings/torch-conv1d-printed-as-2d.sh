#!/usr/bin/env bash
# Expected: the convolution of a Conv1d has three dimensions in the log, as oneDNN prints one-
# dimensional problems (iw and no ih).
# Seen: PyTorch hands oneDNN a 2-D convolution of height 1: ih1 oh1 kh1, 1 as the third size of its
# reorders. The log can't tell a Conv1d from a Conv2d with a 1 x 3 kernel. Conv3d stays 3-D.
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

print("# one", flush=True)
F.conv1d(torch.randn(2, 3, 8), torch.randn(4, 3, 3))
print("# two", flush=True)
F.conv2d(torch.randn(2, 3, 1, 8), torch.randn(4, 3, 1, 3))
print("# three", flush=True)
F.conv3d(torch.randn(2, 3, 8, 8, 8), torch.randn(4, 3, 3, 3, 3))
PYTHON
ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
problem() { # of the convolution below heading $1
    awk -F, -v name="# $1" '/^# /{on = ($0 == name)} on && $6 == "convolution" {print $12}' "$work/log"
}
for case in one two three; do
    echo "$case: $(problem $case)"
done
[ "$(problem one)" = mb2_ic3oc4_ih1oh1kh1sh1dh0ph0_iw8ow6kw3sw1dw0pw0 ] || changed "Conv1d"
[ "$(problem one)" = "$(problem two)" ] || changed "the log tells Conv1d from Conv2d"
[[ "$(problem three)" = *_id8* ]] || changed "Conv3d"
