"""Which dtype a result has: names of dtypes, and numbers of Python, which give way to any tensor.

Told about: `keras/src/backend/common/dtypes.py` (`result_type`), `standardize_dtype`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.backend import floatx

__all__ = ["is_float", "is_int", "result_type", "standardize"]

_PYTHON = {bool: "bool", int: "int64", float: "float32", "int": "int64", "float": "float32"}
_INTEGERS = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def standardize(dtype: Any) -> str:
    """The name of a dtype. Raises TypeError for what is none."""
    if dtype is None:
        return floatx()
    known = _PYTHON.get(dtype) if isinstance(dtype, (str, type)) else None
    return known or str(tf.as_dtype(dtype).name)


def is_float(dtype: Any) -> bool:
    """Is it a dtype of floats?"""
    return standardize(dtype) in _FLOATS


def is_int(dtype: Any) -> bool:
    """Is it a dtype of integers? Not bool."""
    return "int" in standardize(dtype)


def result_type(*dtypes: Any) -> str:
    """The dtype of a result: the widest; `int` and `float` only count where no tensor is wider.

    NB: Keras has a lattice of all dtypes; here are those that models meet.
    """
    weak = {each for each in dtypes if isinstance(each, type)}
    names = [standardize(each) for each in dtypes if not isinstance(each, type)]
    floats = [name for name in names if name in _FLOATS]
    if floats:
        if {"float16", "bfloat16"} <= set(floats):
            return "float32"
        return max(floats, key=_FLOATS.index)
    if float in weak:
        return floatx()
    if not names:
        return "int32" if int in weak else "bool"
    widest = max(names, key=_INTEGERS.index)
    return "int32" if widest == "bool" and int in weak else widest
