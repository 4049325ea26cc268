"""Names of `tf.compat.v1` that TensorFlow 2 has too, under the same name or in a chapter.

NB: functions are TensorFlow 2's: arguments that only TensorFlow 1 takes (`keep_dims`, `dim`) are
refused, and of those that stand elsewhere in the order the place is TensorFlow 2's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.api.missing import missing

__all__ = ["shared"]

_OTHERWISE = {
    "": frozenset({"initializers", "losses", "metrics", "optimizers", "summary"}),
    "nn": frozenset({"crelu", "dropout", "pool", "sampled_softmax_loss"}),
}
"""What means something else there."""
_CHAPTERS = {
    "math": """
        ceil confusion_matrix conj count_nonzero cumprod digamma erf erfc expm1 floordiv floormod
        invert_permutation is_finite is_inf is_nan lgamma log log1p log_sigmoid logical_xor
        reciprocal rint rsqrt segment_max segment_mean segment_min segment_prod segment_sum
        squared_difference unsorted_segment_max unsorted_segment_mean unsorted_segment_min
        unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum""",
    "linalg": "cholesky cholesky_solve cross global_norm qr svd trace",
    "debugging": """
        assert_greater_equal assert_integer assert_less_equal assert_near assert_negative
        assert_non_negative assert_non_positive assert_none_equal assert_positive
        assert_rank_at_least assert_rank_in assert_scalar assert_type check_numerics
        is_numeric_tensor""",
    "nn": "depth_to_space space_to_depth",
}
_MOVED = {
    **{name: f"{chapter}.{name}" for chapter, names in _CHAPTERS.items() for name in names.split()},
    "batch_to_space_nd": "batch_to_space",
    "matrix_band_part": "linalg.band_part",
    "matrix_determinant": "linalg.det",
    "matrix_diag": "linalg.diag",
    "matrix_diag_part": "linalg.diag_part",
    "matrix_inverse": "linalg.inv",
    "matrix_set_diag": "linalg.set_diag",
    "matrix_solve": "linalg.solve",
    "matrix_transpose": "linalg.matrix_transpose",
    "mod": "math.floormod",
    "random_normal": "random.normal",
    "random_shuffle": "random.shuffle",
    "random_uniform": "random.uniform",
    "truncated_normal": "random.truncated_normal",
    "where_v2": "where",
}


def shared(chapter: str = "") -> Callable[[str], Any]:
    """The `__getattr__` of `tf.compat.v1`, or of a chapter of it."""
    refuse = missing(f"tf.compat.v1.{chapter}".rstrip("."))

    def getattr_(name: str) -> Any:
        from tflogscope.runtime import api

        if name == "__version__" and not chapter:
            return api.__version__
        if name.startswith("_") or name in _OTHERWISE.get(chapter, ()):
            return refuse(name)
        moved = _MOVED.get(name, name) if not chapter else f"{chapter}.{name}"
        *path, last = moved.split(".")
        found: Any = api
        for part in path:
            found = getattr(found, part)
        return getattr(found, last) if last in vars(found) else refuse(name)

    return getattr_
