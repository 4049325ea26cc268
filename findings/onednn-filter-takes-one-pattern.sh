#!/usr/bin/env bash
# Expected: ONEDNN_VERBOSE=1,filter=matmul,softmax prints matmuls and softmaxes: commas separate
# values in this variable, and the header says what is printed.
# Seen: the filter ends at the comma, and "softmax" is dropped silently. It is one regular
# expression that may match a part of a name: "convolution" prints deconvolutions, too,
# matmul|softmax is the list, and "primitive" is everything. Where nothing matches, or no primitive
# that ran, there is not even a header, as if the variable weren't set. filter=matmul alone prints
# nothing: it needs a level.
# Versions: onednn 2026.1.0 (oneDNN 3.13.2)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check onednn==2026.1.0
export LD_LIBRARY_PATH="$work/venv/lib"
export OCL_ICD_FILENAMES="$work/venv/lib/libintelocl.so" # the CPU device of the wheel's SYCL runtime
cat > "$work/program.py" <<'PYTHON'
import ctypes

lib = ctypes.CDLL("libdnnl.so.3")
CPU, IN_ORDER, F32, AB, INFERENCE, SOFTMAX = 1, 1, 3, 3, 96, 0x30000
SRC, WEIGHTS, DST = 1, 33, 17


def make(name, *args):
    handle = ctypes.c_void_p()
    status = getattr(lib, name)(ctypes.byref(handle), *args)
    assert status == 0, f"{name} gave {status}"
    return handle


class Arg(ctypes.Structure):
    _fields_ = [("index", ctypes.c_int), ("memory", ctypes.c_void_p)]


engine = make("dnnl_engine_create", CPU, ctypes.c_size_t(0))
stream = make("dnnl_stream_create", engine, IN_ORDER)
square = make("dnnl_memory_desc_create_with_tag", 2, (ctypes.c_int64 * 2)(64, 64), F32, AB)


def run(desc, *indices):
    primitive, allocate = make("dnnl_primitive_create", desc), ctypes.c_void_p(2**64 - 1)
    args = [Arg(at, make("dnnl_memory_create", square, engine, allocate)) for at in indices]
    count = len(args)
    assert lib.dnnl_primitive_execute(primitive, stream, count, (Arg * count)(*args)) == 0
    assert lib.dnnl_stream_wait(stream) == 0


matmul = "dnnl_matmul_primitive_desc_create"
run(make(matmul, engine, square, square, None, square, None), SRC, WEIGHTS, DST)
softmax = "dnnl_softmax_forward_primitive_desc_create"
run(make(softmax, engine, INFERENCE, SOFTMAX, square, square, 1, None), SRC, DST)
PYTHON
# what is printed with the variable: headers, components hit, executions
printed() {
    ONEDNN_VERBOSE=$1 "$work/venv/bin/python" "$work/program.py" > "$work/log"
    echo "$(grep -c 'info,oneDNN' "$work/log" || true) header, hits $(sed -n 's/.*hit components: //p' "$work/log"), runs $(awk -F, '/,exec,/{print $6}' "$work/log" | paste -sd' ')"
}
check() {
    seen=$(printed "$1")
    echo "$1: $seen"
    [ "$seen" = "$2" ] || changed "expected $2"
}
check 1 "1 header, hits , runs matmul softmax"
check 1,filter=matmul,softmax "1 header, hits matmul, runs matmul"
check '1,filter=matmul|softmax' "1 header, hits matmul,softmax, runs matmul softmax"
check 1,filter=primitive "1 header, hits primitive, runs matmul softmax"
check '1,filter=convolution|matmul' "1 header, hits convolution,deconvolution,matmul, runs matmul"
check 1,filter=convolution "0 header, hits , runs "
check filter=matmul "0 header, hits , runs "
