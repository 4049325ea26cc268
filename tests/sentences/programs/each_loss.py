"""A step over two losses: `each` takes the gradient of each, `sum` that of their sum."""

import sys

import tensorflow as tf

trunk = [tf.Variable(tf.random.normal((256, 256), stddev=0.06)) for _ in range(3)]
heads = [tf.Variable(tf.random.normal((256, 1), stddev=0.06)) for _ in range(2)]
variables = [*trunk, *heads]


@tf.function
def step(x, targets):
    with tf.GradientTape(persistent=True) as tape:
        for weights in trunk:
            x = tf.nn.relu(x @ weights)
        losses = [tf.reduce_mean(tf.square(x @ head - y)) for head, y in zip(heads, targets)]
        loss = tf.add_n(losses)
    if sys.argv[1] == "each":
        for one in losses:
            for variable, gradient in zip(variables, tape.gradient(one, variables)):
                if gradient is not None:
                    variable.assign_sub(0.01 * gradient)
    else:
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.01 * gradient)
    return loss


x = tf.random.normal((512, 256))
targets = [tf.random.normal((512, 1)) for _ in heads]
for _ in range(20):
    step(x, targets)
