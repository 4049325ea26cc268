"""TensorFlow 1 behaviour: a learning rate that decays, a step that is counted."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(3)
rng = np.random.RandomState(1)
xs = rng.rand(40, 2).astype("float32")
ys = (xs @ np.array([[1.5], [-2.0]]) + 0.7).astype("float32")

x = tf.placeholder(tf.float32, [None, 2], name="x")
y = tf.placeholder(tf.float32, [None, 1], name="y")
with tf.variable_scope("model"):
    w = tf.get_variable("w", [2, 1], initializer=tf.random_normal_initializer(stddev=0.1, seed=2))
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    pred = tf.add(tf.matmul(x, w), b, name="pred")
loss = tf.reduce_mean(tf.square(pred - y), name="loss")
global_step = tf.Variable(0, trainable=False, name="global_step")
lr = tf.train.exponential_decay(0.5, global_step, 20, 0.9, staircase=True)
train = tf.train.MomentumOptimizer(lr, 0.5).minimize(loss, global_step=global_step)

print(
    pred,
    loss.op.name,
    [v.name for v in tf.global_variables()],
    [v.name for v in tf.trainable_variables()],
)
with tf.Session() as sess:
    try:
        sess.run(w)
    except tf.errors.FailedPreconditionError as e:
        print(type(e).__name__)
    sess.run(tf.global_variables_initializer())
    for i in range(61):
        _, l, s, r = sess.run([train, loss, global_step, lr], feed_dict={x: xs, y: ys})
        if i % 20 == 0:
            print(i, f"{l:.5f}", s, r)
    print(sess.run({"w": w, "b": b}))
    print(pred.eval({x: [[1.0, 1.0]]}), tf.get_default_session() is sess)
    print(sess.run("model/pred:0", {"x:0": [[0.0, 0.0]]}))
    try:
        sess.run(pred)
    except tf.errors.InvalidArgumentError as e:
        print(e.message.splitlines()[0])
    try:
        sess.run(pred, {x: [1.0]})
    except ValueError as e:
        print("ValueError", str(e)[:60])
    w.load([[0.0], [0.0]], sess)
    print(w.eval())
    print(
        sess.run(tf.assign(b, [9.0])),
        sess.run(tf.gradients(loss, w), {x: xs[:2], y: ys[:2]})[0].shape,
    )
g = tf.get_default_graph()
print(
    len(g.get_operations()) > 50,
    g.get_tensor_by_name("loss:0"),
    g.get_operation_by_name("model/pred").type,
)
print([n.name for n in g.as_graph_def().node][:6])
