#!/usr/bin/env bash
# Expected: ONEDNN_MAX_CPU_ISA takes the name that the header prints (SSE4.1), or complains about a
# name that it doesn't know.
# Seen: only SSE41 (in either case) sets the limit. SSE4.1 and SSE4_1 are dropped without a word, and
# the header then names the ISA of the CPU: a run that was to be slow is fast.
# Versions: onednn 2026.1.0 (oneDNN 3.13.2), on an x86-64 CPU with AVX or more
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

isa() {
    ONEDNN_VERBOSE=all ONEDNN_MAX_CPU_ISA=$1 "$work/venv/bin/python" "$work/matmul.py" > "$work/log"
    ! grep -i -E "error.*isa|warn.*isa|$1" "$work/log" | grep -v 'cpu,isa' || changed "$1 is spoken of"
    sed -n 's/.*,info,cpu,isa://p' "$work/log"
}
detected=$(isa DEFAULT)
for name in SSE41 sse41 SSE4.1 SSE4_1; do
    echo "$name: $(isa "$name")"
done
[ "$detected" != "Intel SSE4.1" ] || { echo "this CPU has SSE4.1 only"; exit 0; }
[ "$(isa SSE41)" = "Intel SSE4.1" ] && [ "$(isa sse41)" = "Intel SSE4.1" ] || changed "SSE41 sets no limit"
[ "$(isa SSE4.1)" = "$detected" ] && [ "$(isa SSE4_1)" = "$detected" ] || changed "another name sets a limit"
