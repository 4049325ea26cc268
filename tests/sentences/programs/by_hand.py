"""Nine training steps by hand, all eager: a tf.Module, momentum of its own."""
import sys
import tensorflow as tf


class Net(tf.Module):
    def __init__(self):
        self.a = tf.Variable(tf.random.normal((6, 16), seed=1) * 0.1, name="a")
        self.b = tf.Variable(tf.zeros((16,)), name="b")
        self.c = tf.Variable(tf.random.normal((16, 3), seed=2) * 0.1, name="c")

    def __call__(self, x):
        return tf.tanh(x @ self.a + self.b) @ self.c


def train(net, speeds, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, net(x)))
    for variable, speed, gradient in zip(net.trainable_variables, speeds, tape.gradient(loss, net.trainable_variables)):
        speed.assign(0.9 * speed + gradient)
        variable.assign_sub(0.05 * speed)
    return loss


net = Net()
speeds = [tf.Variable(tf.zeros_like(v)) for v in net.trainable_variables]
x, y = tf.random.normal((32, 6), seed=3), tf.constant([0, 1, 2, 1] * 8)
for step in range(9):
    loss = train(net, speeds, x, y)
print(float(loss))
