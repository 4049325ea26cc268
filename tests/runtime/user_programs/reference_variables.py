"""Variables that are references, as TensorFlow 1 had them, and what a session makes of them."""

import tensorflow as tf

tf1 = tf.compat.v1

with tf.Graph().as_default() as g:
    x = tf1.placeholder(tf.float32, [None, 2], name="x")
    w = tf1.get_variable("w", [2, 1], initializer=tf1.ones_initializer(), use_resource=False)
    b = tf1.get_variable("b", [1], initializer=tf1.zeros_initializer())
    loss = tf.reduce_mean((x @ w + b) ** 2)
    step = tf1.train.GradientDescentOptimizer(0.01).minimize(loss)
    doubled = w.assign(w * 2.0)
    added = w.assign_add([[1.0], [2.0]])
    again = w.read_value()
    loop = tf1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [tf.constant(0), loss])
    print(w.name, w.shape, b.name)
    for node in g.get_operations():
        print(node.name, node.type)
    feed = {x: [[1.0, 2.0], [3.0, 4.0]]}
    with tf1.Session() as s:
        try:
            s.run(again)
        except tf.errors.FailedPreconditionError as error:
            print(error.message.splitlines()[-2:])
        s.run(tf1.global_variables_initializer())
        for _ in range(3):
            print(s.run([step, loss], feed)[1])
        print(s.run(w).round(4).tolist(), s.run(b).round(4).tolist())
        print(s.run(doubled).round(4).tolist(), s.run(added).round(4).tolist())
        print(s.run([again, loop[0]], feed)[1], s.run(w).round(4).tolist())
