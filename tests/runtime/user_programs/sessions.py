"""Graphs and sessions as TensorFlow 1 had them."""

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1

g = tf.Graph()
with g.as_default():
    a = tf1.placeholder(tf.float32, [None], name="a")
    b = a * 2
    v = tf1.get_variable("v", shape=[2], initializer=tf1.ones_initializer())
    c = b + v
    with tf1.Session() as s:
        s.run(tf1.global_variables_initializer())
        print(s.run(c, {a: [1.0, 2.0]}), s.run([b, c], feed_dict={a: [1.0, 1.0]}))
    print(c.name, [o.name for o in g.get_operations()][:5])

with tf.Graph().as_default():
    x = tf1.placeholder(tf.float32, [None, 2])
    y = tf1.placeholder(tf.float32, [None, 1])
    w = tf1.Variable(tf.zeros([2, 1]))
    b = tf1.Variable(0.0)
    p = x @ w + b
    loss = tf.reduce_mean((p - y) ** 2)
    tr = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf1.Session() as s:
        s.run(tf1.global_variables_initializer())
        for i in range(5):
            _, l = s.run([tr, loss], {x: [[1, 2], [3, 4]], y: [[1], [2]]})
            print(i, l)

with tf.Graph().as_default() as g:
    x = tf.constant([1.0, 2.0])
    y = tf.square(x)
    gr = tf.gradients(y, x)
    print(gr)
    with tf1.Session(graph=g) as s:
        print(s.run(gr))
        print(y.eval(), tf.executing_eagerly())

try:
    with tf.Graph().as_default():
        x = tf.constant(1)
        with tf.control_dependencies([tf1.assert_equal(x, 2)]):
            y = tf.identity(x)
        with tf1.Session() as s:
            s.run(y)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    with tf.Graph().as_default():
        i = tf.constant(0)
        r = tf.while_loop(lambda i: i < 4, lambda i: i + 1, [i])
        c = tf.cond(r > 2, lambda: 1.0, lambda: 2.0)
        with tf1.Session() as s:
            print(s.run([r, c]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf1.placeholder(tf.float32)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])
