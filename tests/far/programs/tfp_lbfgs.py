"""TFP: its optimizer runs its loop eagerly; the objective is a tf.function."""
import tensorflow as tf
import tensorflow_probability as tfp


@tf.function
def objective(x):
    return tfp.math.value_and_gradient(lambda x: tf.reduce_sum((x - tf.constant([1.0, 2.0])) ** 4), x)


found = tfp.optimizer.lbfgs_minimize(objective, initial_position=tf.constant([3.0, -2.0]), max_iterations=1)
print("TRUTH", found.num_objective_evaluations.numpy())
