#!/usr/bin/env bash
# Expected: XLA_FLAGS=--xla_cpu_use_onednn=true brings JAX's matmuls and convolutions to oneDNN, as the
# flag's help says ("Call oneDNN thunks for matmul and convolution fusions"), as primitives.
# Seen: alone it does nothing, without a word, and so does the flag that names the fusions. Both
# together bring matmuls, as partitions of the graph API whose primitives print lines of their own: the
# time is in the log twice. Convolutions stay what they are without flags, gemm_api.
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

a = jnp.ones((256, 256))
multiply = jax.jit(lambda a: a @ a)
for _ in range(3):
    print("# matmul", flush=True)
    multiply(a).block_until_ready()
print("# convolution", flush=True)
x, w = jnp.ones((2, 3, 16, 16)), jnp.ones((8, 3, 3, 3))
jax.jit(lambda x, w: conv_general_dilated(x, w, (1, 1), "SAME"))(x, w).block_until_ready()
PYTHON
# graph partitions and matmul primitives that ran below the headings $1, and gemm_api if any
ran() {
    awk -v name="# $1" '/^# /{on = ($0 == name)} on' "$work/log" | grep ',exec,cpu,' > "$work/ran" || true
    echo "$(grep -c ',graph,exec,' "$work/ran") $(grep -c ',exec,cpu,matmul,' "$work/ran") $(grep -o -m 1 gemm_api "$work/ran")"
}
use=--xla_cpu_use_onednn=true
types=--xla_cpu_experimental_onednn_fusion_type=LIBRARY_FUSION_TYPE_DOT
for flags in "" "$use" "$types" "$use $types"; do
    XLA_FLAGS=$flags JAX_PLATFORMS=cpu ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
    read -r partitions matmuls none <<< "$(ran matmul)"
    echo "XLA_FLAGS='$flags': $partitions partitions, $matmuls matmuls; convolution: $(ran convolution)"
    if [ "$flags" = "$use $types" ]; then
        [ "$partitions $matmuls" = "3 3" ] || changed "both flags together"
        grep -m 1 -B 1 ',graph,exec,' "$work/log"
    else
        [ "$partitions $matmuls$none" = "0 0" ] || changed "$flags brings matmuls to oneDNN"
    fi
    [ "$(ran convolution)" = "0 0 gemm_api" ] || changed "convolutions are something else"
    ! grep -qi 'onednn\|unknown' "$work/errors" || changed "something is said of it"
done
