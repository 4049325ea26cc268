"""GPflow: its optimizer runs compiled functions; `predict_f` runs op by op."""
import gpflow
import numpy as np

x = np.linspace(0, 1, 8)[:, None]
model = gpflow.models.GPR((x, np.sin(6 * x)), kernel=gpflow.kernels.SquaredExponential())
gpflow.optimizers.Scipy().minimize(model.training_loss, model.trainable_variables, options={"maxiter": 3})
mean, variance = model.predict_f(x[:3])
print("TRUTH", mean.shape)
