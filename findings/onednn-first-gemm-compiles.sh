#!/usr/bin/env bash
# Expected: kernels are generated when a primitive is created, so that exec_time is what a run
# costs, the first one, too.
# Seen: the first gemm_api of a process generates its kernels inside: a product of two 64 x 64
# matrices takes thousands of times as long as the next one with AVX-512 or AVX2, fifty times with
# SSE4.1, and no creation is logged. Averages of a short log are wrong.
# Versions: tensorflow-cpu 2.21.0 (oneDNN 3.7.3)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0
cat > "$work/program.py" <<'PYTHON'
import tensorflow as tf

a = tf.ones([64, 64])
for _ in range(5):
    tf.linalg.matmul(a, a)
PYTHON
ONEDNN_VERBOSE=2 "$work/venv/bin/python" "$work/program.py" > "$work/log" 2> "$work/errors"
grep -E ',(exec|create)[^,]*,cpu,' "$work/log"
! grep -q ',create' "$work/log" || changed "a creation is logged"
times=$(grep ',exec,cpu,gemm_api,' "$work/log" | sed 's/.*,//')
[ "$(wc -l <<< "$times")" = 5 ] || changed "other primitives ran"
# the median of the later ones: any of them may be interrupted
ratio=$({ head -1 <<< "$times"; tail -n +2 <<< "$times" | sort -g | sed -n 2p; } |
    awk 'NR == 1 {first = $1} END {print int(first / $1)}')
echo "the first takes $ratio times as long as the others"
[ "$ratio" -ge 20 ] || changed "the first is no slower"
