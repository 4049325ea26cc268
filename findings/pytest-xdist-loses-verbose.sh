#!/usr/bin/env bash
# Expected: with "pytest -s" all that C libraries print in a test is shown, whether or not pytest-
# xdist runs the tests.
# Seen: with -n 1 what a worker's file descriptor 1 gets is lost, and descriptor 2 is shown.
# ONEDNN_VERBOSE writes to the first and TensorFlow's VLOG to the second, so that the log has ops and
# no primitives. Without -s both are captured and reported (-rA).
# Versions: pytest 9.2.0, pytest-xdist 3.8.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }


python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check pytest==9.2.0 pytest-xdist==3.8.0
cat > "$work/test_output.py" <<'PYTHON'
import os


def test_output():
    os.write(1, b"onednn_verbose,v1,info\n")  # as C code does
    os.write(2, b"I0000 00:00:1700000000.000000 1 execute.cc:1] Executing op\n")
PYTHON
cd "$work"
lines() {
    venv/bin/python -m pytest -q -p no:cacheprovider "$@" test_output.py > log 2>&1
    echo "$(grep -c onednn_verbose log || true) $(grep -c 'Executing op' log || true)"
}
alone=$(lines -s)
workers=$(lines -s -n 1)
captured=$(lines -rA -n 1)
echo "lines of stdout and of stderr: alone $alone, with a worker $workers, captured in a worker $captured"
[ "$alone" = "1 1" ] || changed "pytest -s hides lines"
[ "$workers" = "0 1" ] || changed "pytest -s -n 1"
[ "$captured" = "1 1" ] || changed "captured lines are lost"
