"""`tf.compat.v1.train`."""

from __future__ import annotations

from tflogscope.runtime import optimizers_v1
from tflogscope.runtime.api.missing import missing

AdamOptimizer = optimizers_v1.AdamOptimizer
GradientDescentOptimizer = optimizers_v1.GradientDescentOptimizer
MomentumOptimizer = optimizers_v1.MomentumOptimizer
Optimizer = optimizers_v1.Optimizer

__getattr__ = missing("tf.compat.v1.train")
