"""`tf.debugging`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import debugging

Assert = debugging.Assert
assert_all_finite = debugging.assert_all_finite
assert_equal = debugging.assert_equal
assert_greater = debugging.assert_greater
assert_greater_equal = debugging.assert_greater_equal
assert_less = debugging.assert_less
assert_less_equal = debugging.assert_less_equal
assert_near = debugging.assert_near
assert_negative = debugging.assert_negative
assert_non_negative = debugging.assert_non_negative
assert_non_positive = debugging.assert_non_positive
assert_none_equal = debugging.assert_none_equal
assert_positive = debugging.assert_positive
assert_integer = debugging.assert_integer
assert_rank_in = debugging.assert_rank_in
assert_proper_iterable = debugging.assert_proper_iterable
assert_same_float_dtype = debugging.assert_same_float_dtype
assert_rank = debugging.assert_rank
assert_rank_at_least = debugging.assert_rank_at_least
assert_scalar = debugging.assert_scalar
assert_shapes = debugging.assert_shapes
assert_type = debugging.assert_type
check_numerics = debugging.check_numerics
is_numeric_tensor = debugging.is_numeric_tensor


def set_log_device_placement(enabled: bool) -> None:
    """Nothing: everything is on the one CPU."""
    del enabled


def get_log_device_placement() -> bool:
    """It is not logged."""
    return False


def disable_traceback_filtering() -> None:
    """Nothing: tracebacks are whole here."""


def enable_traceback_filtering() -> None:
    """Nothing: tracebacks are whole here."""


def is_traceback_filtering_enabled() -> bool:
    """Never."""
    return False


__getattr__ = missing("tf.debugging")
