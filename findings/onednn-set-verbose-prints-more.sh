#!/usr/bin/env bash
# Expected: dnnl_set_verbose(2) and ONEDNN_VERBOSE=2 print the same lines.
# Seen: the function turns on debuginfo, too. Its line has no component field, as other records of
# oneDNN 3.13 have ("onednn_verbose,v1,cpu,debuginfo,..."), and stands in front of the first creation.
# Versions: onednn 2026.1.0 (oneDNN 3.13.2)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check onednn==2026.1.0
export LD_LIBRARY_PATH="$work/venv/lib"
export OCL_ICD_FILENAMES="$work/venv/lib/libintelocl.so" # the CPU device of the wheel's SYCL runtime
cat > "$work/matmul.py" <<'PYTHON'
import ctypes
import os

lib = ctypes.CDLL("libdnnl.so.3")
CPU, IN_ORDER, F32, AB = 1, 1, 3, 3
SRC, WEIGHTS, DST = 1, 33, 17


def make(name, *args):
    handle = ctypes.c_void_p()
    status = getattr(lib, name)(ctypes.byref(handle), *args)
    assert status == 0, f"{name} gave {status}"
    return handle


class Arg(ctypes.Structure):
    _fields_ = [("index", ctypes.c_int), ("memory", ctypes.c_void_p)]


def matmul(m=4, k=8, n=16):
    engine = make("dnnl_engine_create", CPU, ctypes.c_size_t(0))
    stream = make("dnnl_stream_create", engine, IN_ORDER)
    shapes = {SRC: (m, k), WEIGHTS: (k, n), DST: (m, n)}
    mds = {
        at: make("dnnl_memory_desc_create_with_tag", 2, (ctypes.c_int64 * 2)(*shape), F32, AB)
        for at, shape in shapes.items()
    }
    desc = make(
        "dnnl_matmul_primitive_desc_create", engine, mds[SRC], mds[WEIGHTS], None, mds[DST], None
    )
    primitive = make("dnnl_primitive_create", desc)
    allocate = ctypes.c_void_p(2**64 - 1)
    args = [Arg(at, make("dnnl_memory_create", md, engine, allocate)) for at, md in mds.items()]
    assert lib.dnnl_primitive_execute(primitive, stream, 3, (Arg * 3)(*args)) == 0
    assert lib.dnnl_stream_wait(stream) == 0

matmul()
PYTHON

ONEDNN_VERBOSE=2 "$work/venv/bin/python" "$work/matmul.py" > "$work/variable"
sed -i 's/^matmul()$/assert lib.dnnl_set_verbose(2) == 0\nmatmul()/' "$work/matmul.py"
"$work/venv/bin/python" "$work/matmul.py" > "$work/function"
events() { cut -d, -f3-5 "$1" | grep -E 'create|exec|debuginfo'; }
events "$work/function"
grep -q '^onednn_verbose,v1,cpu,debuginfo,' "$work/function" || changed "the function gives no debuginfo"
! grep -q debuginfo "$work/variable" || changed "the variable gives debuginfo"
diff <(events "$work/variable") <(events "$work/function" | grep -v debuginfo) || changed "more differs"
