#!/usr/bin/env bash
# Expected: oneDNN is an option of Paddle's predictor, off unless enabled, and FLAGS_use_onednn turns
# it on for layers.
# Seen: the predictor uses it unless disabled. Layers don't use it, with the flag either.
# Versions: paddlepaddle 3.3.1 (oneDNN 3.6.2)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check \
    paddlepaddle==3.3.1 setuptools
cat > "$work/program.py" <<'PYTHON'
import sys

import paddle
from paddle import inference, nn
from paddle.static import InputSpec

case, path = sys.argv[1:]
model = nn.Sequential(nn.Conv2D(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 16))
model.eval()
x = paddle.ones([2, 3, 16, 16])
if case.startswith("layers"):
    model(x)
else:
    paddle.jit.save(model, path, input_spec=[InputSpec([2, 3, 16, 16], "float32", "x")])
    config = inference.Config(path + ".json", path + ".pdiparams")
    config.disable_gpu()
    if case == "predictor-enabled":
        config.enable_mkldnn()
    if case == "predictor-disabled":
        config.disable_mkldnn()
    predictor = inference.create_predictor(config)
    predictor.get_input_handle("x").copy_from_cpu(x.numpy())
    predictor.run()
PYTHON

for case in layers layers-with-flag predictor predictor-enabled predictor-disabled; do
    flag=$([ $case = layers-with-flag ] && echo 1 || echo 0)
    FLAGS_use_onednn=$flag FLAGS_use_mkldnn=$flag ONEDNN_VERBOSE=1 \
        "$work/venv/bin/python" "$work/program.py" $case "$work/$case" \
        > "$work/$case.log" 2> "$work/errors"
    ran=$(grep ',exec,cpu,' "$work/$case.log" | cut -d, -f6 | sort -u | xargs || true)
    echo "$case: ${ran:-nothing}" "$(grep -o 'oneDNN v[0-9.]*' "$work/$case.log" || true)"
    case $case in
        predictor | predictor-enabled) grep -q convolution <<< "$ran" || changed "$case" ;;
        *) [ -z "$ran" ] || changed "$case" ;;
    esac
done
