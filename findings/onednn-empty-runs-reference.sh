#!/usr/bin/env bash
# Expected: a matmul without elements (0 rows, or an inner dimension of 0) has nothing to run, so the
# log has no execution of it; if it has one, it is the kernel that other sizes get.
# Seen: it is created and executed as the reference implementation, ref:any, which else is a sign of a
# missing fast kernel. A count of ref: lines counts empty batches.
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

matmul(0, 8, 16)
matmul(4, 0, 16)
matmul(4, 8, 16)
PYTHON

ONEDNN_VERBOSE=2 "$work/venv/bin/python" "$work/matmul.py" | grep -E ',(create:cache_miss|exec),' > "$work/log"
cut -d, -f4-7,12 "$work/log"
for shape in 0x8:8x16 4x0:0x16; do
    for event in create:cache_miss exec; do
        grep -q ",$event,cpu,matmul,ref:any,.*,$shape," "$work/log" || changed "$event of $shape"
    done
done
! grep ',ref.*,4x8:8x16,' "$work/log" || changed "a matmul with elements runs as reference"
grep -q ',exec,cpu,matmul,.*,4x8:8x16,' "$work/log" || changed "no execution of 4x8:8x16"
