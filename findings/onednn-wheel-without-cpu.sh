#!/usr/bin/env bash
# Expected: the wheel "onednn" brings a library that runs on the CPU at once, with OpenMP or TBB
# threads.
# Seen: its CPU engine is a SYCL device. Without an OpenCL driver for the CPU oneDNN counts no CPU
# engine, and its header says so ("no devices available"); the driver in the wheel's own dependencies
# must be named in OCL_ICD_FILENAMES.
# Versions: onednn 2026.1.0 (oneDNN 3.13.2)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check onednn==2026.1.0
export LD_LIBRARY_PATH="$work/venv/lib"
export OCL_ICD_FILENAMES="$work/venv/lib/libintelocl.so" # the CPU device of the wheel's SYCL runtime

cat > "$work/count.py" <<'PYTHON'
import ctypes

lib = ctypes.CDLL("libdnnl.so.3")
lib.dnnl_engine_get_count.restype = ctypes.c_size_t
print("engines:", lib.dnnl_engine_get_count(1))
PYTHON
mkdir "$work/no-drivers"
export ONEDNN_VERBOSE=1 OCL_ICD_VENDORS="$work/no-drivers"
with=$("$work/venv/bin/python" "$work/count.py")
unset OCL_ICD_FILENAMES
without=$("$work/venv/bin/python" "$work/count.py")
echo "$without"

grep -q '^engines: 1$' <<< "$with" || changed "the driver of the wheel gives no engine"
grep -q '^engines: 0$' <<< "$without" || changed "there is a CPU engine without a driver"
