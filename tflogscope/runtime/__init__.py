"""The reference runtime: a small TensorFlow in Python and NumPy (spec section 6), still to come.

It stands apart: it imports nothing of the analyzer, and of the analyzer only `cli.simulate` may
import it.
"""

from __future__ import annotations
