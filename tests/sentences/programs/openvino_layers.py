"""Layers of one shape each, run by OpenVINO: many small ones (`once`), or a large input (`again`)."""

import sys

import numpy as np
import openvino as ov
from openvino import opset13 as ops

ROWS, COLUMNS, SIZES = {"once": (16, 64, range(72, 168, 8)), "again": (4096, 512, [8])}[sys.argv[1]]

random = np.random.default_rng(1)
inputs = node = ops.parameter([ROWS, COLUMNS], np.float32)
last = COLUMNS
for size in SIZES:
    node = ops.relu(ops.matmul(node, random.random((last, size), np.float32), False, False))
    last = size
model = ov.compile_model(ov.Model([node], [inputs]), "CPU")
for _ in range(5):
    model([random.random((ROWS, COLUMNS), np.float32)])
