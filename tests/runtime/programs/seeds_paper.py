# ruff: noqa
"""The listings of the article on the paper "TensorFlow Eager", `seeds/003_c423053a75983ad0.txt`:
nested tapes, and a model with a variable and a layer (in Keras' present spelling)."""

import tensorflow as tf

x = tf.constant(3.0)
with tf.GradientTape() as t1:
    t1.watch(x)
    with tf.GradientTape() as t2:
        t2.watch(x)
        y = x * x
    dy_dx = t2.gradient(y, x)
d2y_dx2 = t1.gradient(dy_dx, x)
print(dy_dx.numpy(), d2y_dx2.numpy())


class Net(tf.keras.Model):
    def __init__(self):
        super(Net, self).__init__()
        self.v = tf.Variable(1.0)
        self.out = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, x):
        return self.out(tf.nn.softplus(x * self.v))


net = Net()
inputs = tf.constant([[0.0, 1.0], [2.0, -1.0]])
with tf.GradientTape() as tape:
    eager = net(inputs)
print(eager.numpy())
for variable, gradient in zip(
    net.trainable_variables, tape.gradient(eager, net.trainable_variables)
):
    print(variable.name, gradient.numpy())

staged = tf.function(net)
print(staged(inputs).numpy())
