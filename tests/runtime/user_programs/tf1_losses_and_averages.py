"""TensorFlow 1: losses in collections, clipped gradients, moving averages, an interactive session."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

np.random.seed(0)
X = np.random.randn(60, 4).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)


def layer(x, units, name, act=None):
    with tf.variable_scope(name):
        w = tf.get_variable(
            "kernel", [x.shape[1], units], initializer=tf.glorot_uniform_initializer(seed=1)
        )
        b = tf.get_variable("bias", [units], initializer=tf.constant_initializer(0.1))
        h = tf.nn.xw_plus_b(x, w, b)
        return act(h) if act else h


x = tf.placeholder_with_default(tf.zeros([1, 4]), [None, 4])
y = tf.placeholder(tf.int64, [None])
keep = tf.placeholder_with_default(1.0, [])
h = layer(x, 8, "h1", tf.nn.tanh)
h = tf.nn.dropout(h, rate=1 - keep, seed=5)
logits = layer(h, 2, "out")
xent = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
reg = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name]) * 1e-3
tf.add_to_collection(tf.GraphKeys.LOSSES, reg)
loss = tf.losses.get_total_loss(add_regularization_losses=False)
opt = tf.train.AdamOptimizer(0.05)
gvs = opt.compute_gradients(loss)
capped = [(tf.clip_by_norm(g, 1.0), v) for g, v in gvs if g is not None]
train_op = opt.apply_gradients(capped)
acc = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
ema = tf.train.ExponentialMovingAverage(0.9)
avg_op = ema.apply([loss])
running = ema.average(loss)
with tf.control_dependencies([train_op]):
    train_and_avg = tf.group(avg_op)

print([v.op.name for v in tf.trainable_variables()])
print(sorted(v.op.name for v in tf.global_variables())[:6], len(tf.global_variables()))
print(tf.get_collection(tf.GraphKeys.LOSSES))
sess = tf.InteractiveSession()
tf.global_variables_initializer().run()
print(tf.report_uninitialized_variables().eval())
for epoch in range(20):
    for i in range(0, 60, 20):
        sess.run(train_and_avg, {x: X[i : i + 20], y: Y[i : i + 20]})
    if epoch % 5 == 4:
        l, a, r = sess.run([loss, acc, running], {x: X, y: Y})
        print(epoch + 1, f"{l:.3f} {a:.3f}", r > 0)
print(logits.eval().shape)
for v in tf.trainable_variables():
    print(v.op.name, v.eval().shape, v.initial_value.shape)
print(sess.run(tf.norm(tf.trainable_variables()[0])) > 0)
try:
    tf.get_variable("h1/kernel", [3, 3])
except ValueError as e:
    print(type(e).__name__)
sess.close()
try:
    sess.run(loss)
except RuntimeError as e:
    print(e)
tf.reset_default_graph()
print(len(tf.get_default_graph().get_operations()))
