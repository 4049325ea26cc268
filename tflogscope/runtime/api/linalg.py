"""`tf.linalg`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import linalg, nn, reductions

adjoint = linalg.adjoint
band_part = linalg.band_part
cholesky = linalg.cholesky
cross = linalg.cross
det = linalg.det
diag = linalg.diag
diag_part = linalg.diag_part
einsum = linalg.einsum
eye = linalg.eye
global_norm = reductions.global_norm
inv = linalg.inv
l2_normalize = reductions.l2_normalize
matmul = linalg.matmul
matrix_transpose = linalg.matrix_transpose
matvec = linalg.matvec
norm = reductions.norm
normalize = nn.normalize
qr = linalg.qr
set_diag = linalg.set_diag
solve = linalg.solve
svd = linalg.svd
tensor_diag = linalg.tensor_diag
tensor_diag_part = linalg.tensor_diag_part
tensordot = linalg.tensordot
trace = linalg.trace
triangular_solve = linalg.triangular_solve

__getattr__ = missing("tf.linalg")
