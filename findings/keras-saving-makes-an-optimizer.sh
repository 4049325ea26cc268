#!/usr/bin/env bash
# Expected: saving reads variables, and only loading assigns some. What saving needs to know of the
# class of an optimizer it finds out once.
# Seen: each save of a compiled model, of its weights or whole, makes two new variables and assigns
# them: to see which attributes an optimizer has by itself, Keras makes another one (get_attr_skipset
# of saving_lib.py). It keeps the answer under one name and looks it up under another, so each save
# does so again. Without an optimizer none does.
# Versions: tensorflow-cpu 2.21.0, keras 3.15.1
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check tensorflow-cpu==2.21.0 keras==3.15.1

cat > "$work/program.py" <<'PYTHON'
import sys
import tempfile

import keras
import numpy as np

compiled, method, times = sys.argv[1] == "compiled", sys.argv[2], int(sys.argv[3])
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
if compiled:
    model.compile("adam", "mse")
    model.fit(np.ones((8, 4), "float32"), np.ones((8, 1), "float32"), verbose=0)
with tempfile.TemporaryDirectory() as folder:
    print("saving begins", file=sys.stderr, flush=True)
    for number in range(times):
        if method == "save":
            model.save(f"{folder}/{number}.keras")
        else:
            model.save_weights(f"{folder}/{number}.weights.h5")
    print("saving ends", file=sys.stderr, flush=True)
PYTHON
# how many variables are made and assigned while it saves
variables() {
    TF_CPP_MAX_VLOG_LEVEL=1 "$work/venv/bin/python" "$work/program.py" "$@" 2>&1 |
        sed -n '/^saving begins/,/^saving ends/p' > "$work/saving"
    echo "$(grep -c 'Executing op VarHandleOp ' "$work/saving") $(grep -c 'Executing op AssignVariableOp ' "$work/saving")"
}
for run in "compiled save_weights 1:2 2" "compiled save_weights 3:6 6" "compiled save 3:6 6" "plain save_weights 3:0 0" "plain save 3:0 0"; do
    seen=$(variables ${run%:*})
    echo "${run%:*}: VarHandleOp and AssignVariableOp $seen"
    [ "$seen" = "${run#*:}" ] || changed "$run"
done
