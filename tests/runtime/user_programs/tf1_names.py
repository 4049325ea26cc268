"""A program for TensorFlow 1: names that are in other places today."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.get_variable("w", [3, 2], initializer=tf.zeros_initializer())
y = tf.nn.relu(tf.matmul(x, w) + tf.constant([1.0, 2.0]))
loss = tf.reduce_mean(tf.squared_difference(y, 0.5))
less = tf.assign_sub(w, tf.fill([3, 2], 0.5))
more = tf.assign_add(w, tf.ones([3, 2]))
whole = tf.log(tf.reduce_sum(x))
drawn = tf.random_uniform([2], seed=3)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: np.ones((4, 3), np.float32)}
    print(sess.run(loss, feed))
    print(sess.run(less))
    print(sess.run([loss, whole], feed))
    print(sess.run(more))
    print(sess.run(drawn).shape, sess.run(tf.is_finite(whole), feed))
print([each.name for each in tf.global_variables()], tf.__version__)
