#!/usr/bin/env bash
# Expected: LSTM, GRU and RNN share their code, so oneDNN runs all or none of them, and a layer with
# num_layers=2 and bidirectional=True is one rnn primitive (oneDNN has layers and directions in one).
# Seen: only the LSTM without projections runs in oneDNN, in a primitive for each layer and direction
# (l1 in the problem, four here), each behind reorders of its weights on every call. GRU and RNN print
# nothing.
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

cases = {
    "lstm": torch.nn.LSTM(8, 16, num_layers=2, bidirectional=True),
    "projected": torch.nn.LSTM(8, 16, proj_size=4),
    "gru": torch.nn.GRU(8, 16),
    "rnn": torch.nn.RNN(8, 16),
}
with torch.no_grad():
    for name, layer in cases.items():
        for _ in range(2):
            print("#", name, flush=True)
            layer(torch.randn(5, 3, 8))
PYTHON
ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
# the primitives of one kind ($2) below the heading $1
runs() {
    awk -v name="# $1" '/^# /{on = ($0 == name)} on' "$work/log" | grep -c ",exec,cpu,$2," || true
}

for case in lstm projected gru rnn; do
    echo "$case: $(runs $case rnn) rnn, $(runs $case reorder) reorder in two calls"
done
[ "$(runs lstm rnn)" = 8 ] || changed "not a primitive for each layer and direction"
[ "$(grep ',rnn,' "$work/log" | cut -d, -f12 | cut -c1-2 | uniq)" = l1 ] || changed "more layers in a primitive"
[ "$(runs lstm reorder)" -ge 8 ] || changed "weights are not reordered on each call"
[ "$(runs projected rnn) $(runs gru rnn) $(runs rnn rnn)" = "0 0 0" ] || changed "another layer runs in oneDNN"
