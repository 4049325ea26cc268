"""`tf.linalg`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import decompositions, linalg, nn, reductions

adjoint = linalg.adjoint
band_part = linalg.band_part
cholesky = linalg.cholesky
cholesky_solve = decompositions.cholesky_solve
cross = linalg.cross
det = linalg.det
diag = linalg.diag
diag_part = linalg.diag_part
eigh = decompositions.eigh
eigvalsh = decompositions.eigvalsh
einsum = linalg.einsum
eye = linalg.eye
global_norm = reductions.global_norm
inv = linalg.inv
l2_normalize = reductions.l2_normalize
logdet = decompositions.logdet
lstsq = decompositions.lstsq
lu = decompositions.lu
matmul = linalg.matmul
matrix_rank = decompositions.matrix_rank
matrix_transpose = linalg.matrix_transpose
matvec = linalg.matvec
norm = reductions.norm
normalize = nn.normalize
pinv = decompositions.pinv
qr = decompositions.qr
set_diag = linalg.set_diag
slogdet = decompositions.slogdet
solve = linalg.solve
svd = decompositions.svd
tensor_diag = linalg.tensor_diag
tensor_diag_part = linalg.tensor_diag_part
tensordot = linalg.tensordot
trace = linalg.trace
triangular_solve = linalg.triangular_solve

__getattr__ = missing("tf.linalg")
