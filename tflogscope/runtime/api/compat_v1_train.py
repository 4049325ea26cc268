"""`tf.compat.v1.train`."""

from __future__ import annotations

from tflogscope.runtime import learning_rates_v1, moving_averages, optimizers_v1, variables_v1
from tflogscope.runtime.api.missing import missing

AdamOptimizer = optimizers_v1.AdamOptimizer
GradientDescentOptimizer = optimizers_v1.GradientDescentOptimizer
MomentumOptimizer = optimizers_v1.MomentumOptimizer
Optimizer = optimizers_v1.Optimizer
ExponentialMovingAverage = moving_averages.ExponentialMovingAverage
cosine_decay = learning_rates_v1.cosine_decay
create_global_step = variables_v1.create_global_step
exponential_decay = learning_rates_v1.exponential_decay
get_global_step = variables_v1.get_global_step
get_or_create_global_step = variables_v1.get_or_create_global_step
inverse_time_decay = learning_rates_v1.inverse_time_decay
piecewise_constant = piecewise_constant_decay = learning_rates_v1.piecewise_constant
polynomial_decay = learning_rates_v1.polynomial_decay

__getattr__ = missing("tf.compat.v1.train")
