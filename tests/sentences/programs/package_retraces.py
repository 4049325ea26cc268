"""Trieste makes a tf.function of its own anew in each call."""

import gpflow
import numpy as np
from trieste.models.gpflow import GaussianProcessRegression

x = np.linspace(0.0, 1.0, 5)[:, None]
model = GaussianProcessRegression(gpflow.models.GPR((x, np.sin(x)), gpflow.kernels.Linear()))
for _ in range(5):
    model.find_best_model_initialization(1)
