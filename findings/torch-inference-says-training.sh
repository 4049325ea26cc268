#!/usr/bin/env bash
# Expected: the field prop_kind of ONEDNN_VERBOSE tells inference (forward_inference) from training
# (forward_training).
# Seen: PyTorch creates convolutions as forward_training in eval() under inference_mode(), too. Of its
# eager kernels the LSTM's does follow the mode. Counting forward_training doesn't show a model left
# in training mode.
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

convolution, lstm = torch.nn.Conv2d(3, 4, 3).eval(), torch.nn.LSTM(8, 16).eval()
for name, mode in ("inference", torch.inference_mode), ("training", torch.enable_grad):
    print("#", name, flush=True)
    with mode():
        convolution(torch.randn(2, 3, 8, 8))
        lstm(torch.randn(5, 3, 8))
PYTHON
ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
kinds() { # of the primitive $1, by the heading
    awk -F, -v primitive="$1" '/^# /{name = $0} $4 == "exec" && $6 == primitive {print name, $8}' "$work/log"
}
kinds convolution
kinds rnn
[ "$(kinds convolution | cut -d' ' -f3 | uniq)" = forward_training ] || changed "convolutions follow the mode"
[ "$(kinds rnn | cut -d' ' -f3 | paste -sd' ')" = "forward_inference forward_training" ] || changed "the LSTM"
