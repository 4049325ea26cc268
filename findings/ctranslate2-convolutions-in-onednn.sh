#!/usr/bin/env bash
# Expected: one library multiplies in CTranslate2. Where it says "Use Intel MKL: true",
# ONEDNN_VERBOSE prints nothing, and a model of compute type int8 computes with 8 bits.
# Seen: with oneMKL the convolutions of Whisper run in oneDNN all the same, in float32 whatever the
# compute type is, and with three reorders each, of the weights among them, in each call. With
# CT2_USE_MKL=0 matmuls join them, attention as a gemm_api for each head.
# Versions: ctranslate2 4.8.5 (oneDNN 3.1.1)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed() { echo "changed: $*" >&2; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check ctranslate2==4.8.5 numpy==2.4.6
cat > "$work/program.py" <<'PYTHON'
import sys

import ctranslate2
import numpy as np
from ctranslate2.specs import whisper_spec

HEADS, WIDTH, MELS = 4, 64, 80


def fill(layer, *shape):
    layer.weight = np.random.randn(*shape).astype("float32") / 50
    layer.bias = np.zeros(shape[0], "float32")


def fill_norm(layer):
    layer.gamma, layer.beta = np.ones(WIDTH, "float32"), np.zeros(WIDTH, "float32")


def fill_block(block, cross):
    for attention, sizes in [(block.self_attention, (3, 1)), *cross]:
        fill_norm(attention.layer_norm)
        for linear, size in zip(attention.linear, sizes):
            fill(linear, size * WIDTH, WIDTH)
    fill_norm(block.ffn.layer_norm)
    fill(block.ffn.linear_0, WIDTH, WIDTH)
    fill(block.ffn.linear_1, WIDTH, WIDTH)


spec = whisper_spec.WhisperSpec(1, HEADS, 1, HEADS)
encoder, decoder = spec.encoder, spec.decoder
fill(encoder.conv1, WIDTH, MELS, 3)
fill(encoder.conv2, WIDTH, WIDTH, 3)
encoder.position_encodings.encodings = np.zeros((1500, WIDTH), "float32")
decoder.position_encodings.encodings = np.zeros((448, WIDTH), "float32")
decoder.embeddings.weight = decoder.projection.weight = np.zeros((4, WIDTH), "float32")
decoder.scale_embeddings = False
fill_norm(encoder.layer_norm)
fill_norm(decoder.layer_norm)
fill_block(encoder.layer[0], [])
fill_block(decoder.layer[0], [(decoder.layer[0].attention, (1, 2, 1))])
spec.register_vocabulary(["<|endoftext|>", "<|startoftranscript|>", "a", "b"])
for name in ("suppress_ids", "suppress_ids_begin", "lang_ids", "alignment_heads"):
    setattr(spec.config, name, [])
spec.validate()
spec.optimize()
spec.save(sys.argv[1])
model = ctranslate2.models.Whisper(sys.argv[1], device="cpu", compute_type=sys.argv[2])
sound = ctranslate2.StorageView.from_array(np.zeros((1, MELS, 3000), "float32"))
for call in range(2):
    print("#", call, flush=True)
    model.encode(sound)
PYTHON
# what ran in the second call, by primitive and type of what it reads
ran() {
    mkdir "$work/model"
    CT2_USE_MKL=$2 CT2_VERBOSE=1 ONEDNN_VERBOSE=1 "$work/venv/bin/python" "$work/program.py" "$work/model" "$1" > "$work/log" 2> "$work/errors"
    rm -r "$work/model"
    awk '/^# /{on = ($0 == "# 1")} on' "$work/log" | grep ',exec,cpu,' |
        sed -E 's/.*cpu,([a-z_]*),.*(src_[a-z0-9]*).*/\1 \2/' | sort | uniq -c | tr -s ' ' | paste -sd,
}
for type in float32 int8; do
    for mkl in 1 0; do
        seen=$(ran $type $mkl)
        echo "$type, CT2_USE_MKL=$mkl:$seen"
        case $mkl in
            1) grep -q 'Use Intel MKL: true' "$work/errors" || changed "oneMKL isn't used"
               [ "$seen" = " 2 convolution src_f32, 6 reorder src_f32" ] || changed "$type with oneMKL" ;;
            0) grep -q ' 2 convolution src_f32, .*gemm_api src_f32' <<< "$seen" || changed "$type without oneMKL" ;;
        esac
    done
done
