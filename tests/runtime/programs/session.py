"""TensorFlow 1: a graph, a session, variables, an optimizer, a loop."""

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.set_random_seed(1)
x = tf1.placeholder(tf.float32, (None, 3))
w = tf1.get_variable("w", (3, 2))
b = tf1.get_variable("b", (2,), use_resource=False)
y = tf.matmul(x, w) + b
loss = tf.reduce_mean(tf.square(y))
step = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
doubled = tf1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [tf.constant(0), loss])
feed = {x: np.arange(6.0).reshape(2, 3)}
with tf1.Session() as session:
    session.run(tf1.global_variables_initializer())
    for _ in range(3):
        print(session.run([step, loss], feed))
    print(session.run({"y": y, "doubled": doubled[1]}, feed), session.run(w).round(4))
    try:
        session.run(y)
    except tf.errors.InvalidArgumentError as error:
        print(type(error).__name__)
