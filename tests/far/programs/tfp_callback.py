"""TFP: its optimizer calls an objective of the program, which runs op by op."""
import tensorflow as tf
import tensorflow_probability as tfp

calls = 0


def objective(x):
    global calls
    calls += 1
    return tf.reduce_sum(tf.cosh(x - 1.0))


def both(x):
    return tfp.math.value_and_gradient(objective, x)


@tf.function
def warm(x):
    return x + 1.0


warm(tf.constant(1.0))
tfp.optimizer.lbfgs_minimize(both, initial_position=tf.constant([3.0, -2.0]), max_iterations=1)
print("TRUTH", calls)
