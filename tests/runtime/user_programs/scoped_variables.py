"""TensorFlow 1's variables: shared by name in scopes, and changed by its optimizers."""

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
g = tf.Graph()


def dense(x, units, name):
    with tf1.variable_scope(name, reuse=tf1.AUTO_REUSE):
        start = tf1.glorot_uniform_initializer(seed=1)
        w = tf1.get_variable("kernel", [x.shape[-1], units], initializer=start)
        b = tf1.get_variable("bias", [units], initializer=tf1.zeros_initializer())
        return tf.matmul(x, w) + b


rows = np.random.RandomState(0).rand(8, 4).astype("f")
with g.as_default():
    tf1.set_random_seed(5)
    x = tf1.placeholder(tf.float32, [None, 4], name="x")
    rate = tf1.placeholder_with_default(0.05, [], name="rate")
    step = tf1.Variable(0, trainable=False, name="step")
    with tf1.variable_scope("net"):
        y = dense(tf.tanh(dense(x, 8, "hidden")), 1, "out")
    with tf1.variable_scope("net") as scope:
        again = dense(tf.tanh(dense(x, 8, "hidden")), 1, "out")
        print(scope.name, scope.original_name_scope, tf1.get_variable_scope() is scope)
    loss = tf.reduce_mean(tf.square(y - 1.0))
    pairs = tf1.train.AdamOptimizer(rate).compute_gradients(loss)
    train = tf1.train.AdamOptimizer(rate).apply_gradients(pairs, global_step=step)
    momentum = tf1.train.MomentumOptimizer(0.01, 0.9, use_nesterov=True)
    other = momentum.minimize(loss, var_list=tf1.trainable_variables()[:1])
    print(y.name, again.name, momentum.get_slot_names())
    print([v.name for v in tf1.global_variables()])
    for name, reuse in (("hidden/kernel", False), ("missing", True), ("hidden/bias", True)):
        try:
            with tf1.variable_scope("net", reuse=reuse):
                print(tf1.get_variable(name, [3]))
        except ValueError as error:
            print(str(error)[:90])
with tf1.Session(graph=g) as s:
    s.run(tf1.global_variables_initializer())
    for _ in range(3):
        s.run(train, {x: rows})
        print(s.run([loss, step], {x: rows}))
    for _ in range(3):
        print(s.run([other, loss], {x: rows, rate: 0.0})[1])
    print(np.allclose(*s.run([y, again], {"x:0": rows})), s.run("net/out/bias:0") is not None)
    for name in ("nope:0", "nope"):
        try:
            s.run(name)
        except ValueError as error:
            print(error)
    try:
        s.run(y, {x: rows[:, :2]})
    except ValueError as error:
        print(error)
try:
    s.run(y)
except RuntimeError as error:
    print(error)
