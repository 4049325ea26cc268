"""Functions that NumPy does not have: erf and its inverse, log-gamma, digamma, polygamma, zeta."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["digamma", "erf", "erfc", "erfinv", "lgamma", "ndtri", "polygamma", "zeta"]

Array = NDArray[Any]

_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)
_lgamma = np.frompyfunc(lambda x: math.inf if x <= 0 and x == int(x) else math.lgamma(x), 1, 1)


def _quantile(p: float) -> float:
    if 0 < p < 1:
        return NormalDist().inv_cdf(p)
    return -math.inf if p == 0 else math.inf if p == 1 else math.nan


_ndtri = np.frompyfunc(_quantile, 1, 1)


def erf(x: Array) -> Array:
    """The error function."""
    return np.asarray(_erf(x), x.dtype)


def erfc(x: Array) -> Array:
    """1 - erf(x), also where that is small."""
    return np.asarray(_erfc(x), x.dtype)


def ndtri(p: Array) -> Array:
    """Below which value a share `p` of the normal distribution lies."""
    return np.asarray(_ndtri(p), p.dtype)


def erfinv(x: Array) -> Array:
    """The inverse of the error function."""
    halved = (x.astype(np.float64) + 1) / 2
    return np.asarray(np.asarray(_ndtri(halved), np.float64) / math.sqrt(2), x.dtype)


def lgamma(x: Array) -> Array:
    """The logarithm of the absolute value of the gamma function."""
    return np.asarray(_lgamma(x), x.dtype)


def digamma(x: Array) -> Array:
    """The derivative of log-gamma: by recurrence up to 10, from there by its asymptotic series."""
    z = x.astype(np.float64)
    reflected = z < 0.5
    z = np.where(reflected, 1 - z, z)
    total = np.zeros_like(z)
    for _ in range(10):
        total -= 1 / z
        z = z + 1
    inverse = 1 / (z * z)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))
    total += np.log(z) - 0.5 / z - series
    total = np.where(reflected, total - np.pi / np.tan(np.pi * x), total)
    return np.asarray(total, x.dtype)


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66)


def _zeta(s: Array, q: Array) -> Array:
    """Hurwitz's zeta function, by the formula of Euler and Maclaurin."""
    total = np.zeros_like(q)
    for k in range(10):
        total += (q + k) ** -s
    end = q + 10
    total += end ** (1 - s) / (s - 1) + 0.5 * end**-s
    term = s * end ** (-s - 1)
    for k, number in enumerate(_BERNOULLI):
        total += number / math.factorial(2 * k + 2) * term
        term = term * (s + 2 * k + 1) * (s + 2 * k + 2) / (end * end)
    return total


def zeta(x: Array, q: Array) -> Array:
    """Hurwitz's zeta function, for x > 1 and q > 0."""
    s, start = np.broadcast_arrays(x.astype(np.float64), q.astype(np.float64))
    return np.asarray(_zeta(s, start.copy()), x.dtype)


def polygamma(a: Array, x: Array) -> Array:
    """The derivative of order `a` of digamma, for x > 0."""
    order, z = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    factorial = np.exp(np.asarray(_lgamma(order + 1), np.float64))
    value = (-1.0) ** (order + 1) * factorial * _zeta(order + 1, z.copy())
    return np.asarray(np.where(order == 0, digamma(z), value), x.dtype)
