#!/usr/bin/env bash
# Expected: the output.log of a run of Weights & Biases holds what the terminal shows.
# Seen: by default it wraps Python's sys.stdout and sys.stderr. What C++ code or a child
# process writes to the descriptors isn't in it: neither VLOG nor ONEDNN_VERBOSE. With
# console="redirect" it is.
# Versions: wandb 0.31.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check wandb==0.31.0
cat > "$work/program.py" <<'PYTHON'
import os
import sys

import wandb

run = wandb.init(mode="offline", project="p", settings=wandb.Settings(console=sys.argv[1]))
print("from Python", flush=True)
os.write(1, b"onednn_verbose,v1,info\n")  # as C code does
os.write(2, b"I0000 00:00:1700000000.000000 1 execute.cc:1] Executing op\n")
run.finish()
PYTHON
cd "$work"
export HOME="$work"
for console in auto redirect; do
    mkdir $console
    (cd $console && ../venv/bin/python ../program.py $console) > shown 2>&1
    grep -q onednn_verbose shown && grep -q 'Executing op' shown || changed "the terminal misses lines"
    kept=$(find $console -name output.log -exec cat {} +)
    echo "$console: $(grep -c -E 'onednn_verbose|Executing op' <<< "$kept" || true) of 2 lines of C code"
    grep -q 'from Python' <<< "$kept" || changed "Python's line is not kept"
    found=$(grep -c -E 'onednn_verbose|Executing op' <<< "$kept" || true)
    [ "$found" = "$([ $console = auto ] && echo 0 || echo 2)" ] || changed "$console keeps $found lines"
done
