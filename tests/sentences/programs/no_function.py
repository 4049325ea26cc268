"""A program without a function of its own: eager ops, a jvp and a jacobian, for which TensorFlow traces functions of its own."""

import tensorflow as tf

x = tf.ones((4, 4))
with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as acc:
    y = tf.tanh(x) * tf.sigmoid(x)
print(acc.jvp(y).shape)
for _ in range(20):
    y = tf.matmul(tf.sin(y), x) + tf.exp(y)
print(y.shape)
