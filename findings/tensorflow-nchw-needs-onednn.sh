#!/usr/bin/env bash
# Expected: data_format="NCHW" is for GPUs. On a CPU a convolution refuses it ("only supports the NHWC
# tensor format on the CPU"), in whatever mode; or it works, and then its gradients do, too.
# Seen: it works wherever the layout pass or the eager rewrite gives the op to oneDNN, and the message
# comes where neither does: with TF_ENABLE_ONEDNN_OPTS=0, so by default on CPUs for which TensorFlow
# leaves oneDNN off. One program works on one machine and fails on the next. Max pooling's gradient
# exists for NCHW in a graph only; the eager one refuses with oneDNN, too.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0

cat > "$work/program.py" <<'PYTHON'
import tensorflow as tf

x, kernel = tf.random.normal((1, 3, 16, 16)), tf.random.normal((3, 3, 3, 4))


def convolve(x):
    return tf.nn.conv2d(x, kernel, 1, "SAME", data_format="NCHW")


def pool(x):
    return tf.nn.max_pool2d(x, 2, 2, "SAME", data_format="NCHW")


def gradient_of(function):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return gradient


named = {
    "convolution": convolve,
    "its gradient": gradient_of(convolve),
    "pooling": pool,
    "its gradient, too": gradient_of(pool),
}
for name, function in named.items():
    for mode, asked in (("eager", function), ("graph", tf.function(function))):
        try:
            asked(x)
            seen = "works"
        except (tf.errors.UnimplementedError, tf.errors.InvalidArgumentError):
            seen = "refuses"
        print(f"{name}, {mode}: {seen}")
PYTHON
expected=(
    "convolution, eager: works refuses" "convolution, graph: works refuses"
    "its gradient, eager: works refuses" "its gradient, graph: works refuses"
    "pooling, eager: works refuses" "pooling, graph: works refuses"
    "its gradient, too, eager: refuses refuses" "its gradient, too, graph: works refuses"
)
for on in 1 0; do
    TF_ENABLE_ONEDNN_OPTS=$on "$work/venv/bin/python" "$work/program.py" 2> /dev/null > "$work/seen$on"
done
cut -d' ' -f2- <(sed 's/.*: / /' "$work/seen0") | paste -d' ' "$work/seen1" - > "$work/seen"
sed 's/ \([a-z]*\)$/ with oneDNN, \1 without/' "$work/seen"
diff <(printf '%s\n' "${expected[@]}") "$work/seen" > /dev/null || changed "what works in NCHW"
