#!/usr/bin/env bash
# Expected: torch.jit.optimize_for_inference packs the weights of convolutions once, for the kernel
# that runs, and fuses a ReLU into the convolution in front of it, as freezing in torch.compile does.
# Seen: it packs them in the layout of another kernel, so that each call reorders the weights of each
# convolution, as it does without it. Each ReLU is a primitive of its own. Only the reorders of images
# between the layers are gone. A frozen module that has run once isn't optimized at all, and nothing
# says so.
# Versions: torch 2.13.0 (oneDNN 3.12.0), on a CPU with AVX2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check torch==2.13.0
cat > "$work/program.py" <<'PYTHON'
import torch

images = torch.randn(8, 16, 32, 32)
model = torch.nn.Sequential(
    torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 16, 3), torch.nn.ReLU()
).eval()
frozen, run = (torch.jit.freeze(torch.jit.trace(model, images)) for _ in range(2))
run(images)
cases = {
    "model": model,
    "optimized": torch.jit.optimize_for_inference(frozen),
    "optimized-after-a-run": torch.jit.optimize_for_inference(run),
}
with torch.inference_mode():
    for name, run in cases.items():
        for call in range(3):
            print("#", name, call, flush=True)
            run(images)
PYTHON
# the same kernels on each CPU with AVX2
ONEDNN_MAX_CPU_ISA=AVX2 ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
# how many lines of the third call of $1 match $2
count() { awk -v name="# $1 2" '/^# /{on = ($0 == name)} on' "$work/log" | grep -c ",exec,cpu,$2" || true; }
weights='reorder,.*,[0-9]*x[0-9]*x3x3,'
for case in model optimized optimized-after-a-run; do
    echo "$case: $(count $case convolution) convolutions, $(count $case "$weights") reorders of weights," \
        "$(count $case reorder) reorders, $(count $case eltwise) ReLUs"
done
awk '/^# /{on = ($0 == "# optimized 2")} on' "$work/log" | cut -c1-150
[ "$(count model "$weights") $(count optimized "$weights")" = "2 2" ] || changed "weights are reordered otherwise"
[ "$(count optimized convolution) $(count optimized eltwise)" = "2 2" ] || changed "ReLUs are fused"
[ "$(count optimized reorder)" -lt "$(count model reorder)" ] || changed "no reorder is saved"
[ "$(count optimized-after-a-run reorder)" = "$(count model reorder)" ] || changed "it is optimized after a run"
