#!/usr/bin/env bash
# Expected: JAX on a CPU has no oneDNN; or it has, and its matmuls and convolutions are primitives of
# these names.
# Seen: ONEDNN_VERBOSE=1 prints a header only once a convolution runs, which is one gemm_api for each
# group, or several, if it is large: one for each block of the result. Matmuls print nothing.
# Versions: jax 0.10.2, jaxlib 0.10.2 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check \
    jax==0.10.2 jaxlib==0.10.2
cat > "$work/program.py" <<'PYTHON'
import jax
import jax.numpy as jnp
from jax.lax import conv_general_dilated


def run(name, function, *args):
    print("#", name, flush=True)
    jax.jit(function)(*args).block_until_ready()


def convolve(groups):
    return lambda x, w: conv_general_dilated(x, w, (1, 1), "VALID", feature_group_count=groups)


x = jnp.ones((2, 3, 16, 16))
a = jnp.ones((256, 256))
run("matmul", jnp.matmul, a, a)
run("matmul-bfloat16", jnp.matmul, a.astype(jnp.bfloat16), a.astype(jnp.bfloat16))
run("relu", jax.nn.relu, a)
run("convolution", convolve(1), x, jnp.ones((8, 3, 3, 3)))
run("convolution-of-64-images", convolve(1), jnp.ones((64, 16, 32, 32)), jnp.ones((8, 16, 3, 3)))
run("convolution-of-3-groups", convolve(3), x, jnp.ones((6, 1, 3, 3)))
PYTHON
JAX_PLATFORMS=cpu ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" \
    2> "$work/errors"
grep -o 'oneDNN v[0-9.]*' "$work/log"
# the lines below the heading $1, and the primitives among them that ran
below() { awk -v name="# $1" '/^# /{on = ($0 == name)} on' "$work/log"; }
runs() { below "$1" | grep ',exec,cpu,' | cut -d, -f6 | sort | uniq -c | xargs || true; }

while read -r case wanted; do
    ran=$(runs "$case")
    echo "$case: ${ran:-nothing}, $(below "$case" | grep -c ',info,' || true) header lines"
    [ "$ran" = "$wanted" ] || changed "$case"
done <<'CASES'
matmul
matmul-bfloat16
relu
convolution 1 gemm_api
convolution-of-3-groups 3 gemm_api
CASES
blocks=$(below convolution-of-64-images | grep -c ',exec,cpu,gemm_api,' || true)
echo "convolution-of-64-images: $blocks gemm_api"
[ "$blocks" -gt 1 ] || changed "a large convolution is one gemm_api"
below convolution | grep -q ',info,oneDNN v' || changed "the header is not at the first convolution"
