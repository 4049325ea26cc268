#!/usr/bin/env bash
# Expected: TF_CPP_VMODULE is glog's vmodule: names may hold * and ?, in each release, and a wrong
# item breaks only itself.
# Seen: TensorFlow 2.13 compares whole names (exec*=1 prints nothing) and reads a number up to what is
# no digit (execute=1;a=1 works). 2.21 knows patterns, and drops an item whose level isn't all digits.
# Neither warns. In both a blank behind a comma is part of the next name, which then fits no file.
# Versions: tensorflow-cpu 2.13.1, tensorflow-cpu 2.21.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


cat > "$work/program.py" <<'PYTHON'
import tensorflow as tf

tf.matmul(tf.ones((2, 2)), tf.ones((2, 2)))
PYTHON
seen=""
for release in 2.13.1 2.21.0; do
    python3 -m venv "$work/$release"
    "$work/$release/bin/pip" install --quiet --no-compile --disable-pip-version-check "tensorflow-cpu==$release"
    for modules in 'execute=1' 'exec*=1' 'execute=1;a=1' 'a=1, execute=1'; do
        log=$(TF_CPP_VMODULE=$modules "$work/$release/bin/python" "$work/program.py" 2>&1)
        says=no
        ! grep -q 'Executing op' <<< "$log" || says=yes
        ! grep -i vmodule <<< "$log" || changed "$modules is spoken of"
        echo "$release TF_CPP_VMODULE='$modules': $says"
        seen+="$says "
    done
    rm -r "${work:?}/$release"
done
[ "$seen" = "yes no yes no yes yes no no " ] || changed "$seen"
