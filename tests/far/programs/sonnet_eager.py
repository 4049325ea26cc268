"""Sonnet: a step in a function, then the module called eagerly by the program."""
import sonnet as snt
import tensorflow as tf

mlp = snt.nets.MLP([8, 4])
optimizer = snt.optimizers.SGD(0.1)
x = tf.ones([16, 8])
mlp(x)
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(mlp(x) ** 2)
    variables = mlp.trainable_variables
    optimizer.apply(tape.gradient(loss, variables), variables)
    return loss
for _ in range(5):
    step(x)
for _ in range(5):
    mlp(x)
