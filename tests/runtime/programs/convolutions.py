import tensorflow as tf

tf.random.set_seed(5)
k1 = tf.Variable(tf.random.normal([3, 3, 3, 8]) * 0.1)
k2 = tf.Variable(tf.random.normal([3, 3, 8, 16]) * 0.1)
scale = tf.Variable(tf.ones([8]))
offset = tf.Variable(tf.zeros([8]))
mm = tf.Variable(tf.zeros([8]), trainable=False)
mv = tf.Variable(tf.ones([8]), trainable=False)
w = tf.Variable(tf.random.normal([16, 4]) * 0.1)
b = tf.Variable(tf.zeros([4]))


def net(x, training):
    y = tf.nn.conv2d(x, k1, strides=2, padding="SAME")
    if training:
        y, mean, var = tf.compat.v1.nn.fused_batch_norm(
            y, scale, offset, is_training=True, epsilon=1e-3
        )
        mm.assign(mm * 0.9 + mean * 0.1)
        mv.assign(mv * 0.9 + var * 0.1)
    else:
        y, _, _ = tf.compat.v1.nn.fused_batch_norm(
            y, scale, offset, mean=mm, variance=mv, is_training=False, epsilon=1e-3
        )
    y = tf.nn.relu(y)
    y = tf.nn.max_pool2d(y, 2, 2, "VALID")
    y = tf.nn.relu(tf.nn.conv2d(y, k2, 1, "VALID"))
    y = tf.reduce_mean(y, axis=[1, 2])
    return tf.nn.bias_add(tf.matmul(y, w), b)


vs = [k1, k2, scale, offset, w, b]


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        logits = net(x, True)
        loss = tf.reduce_mean(
            tf.nn.softmax_cross_entropy_with_logits(labels=tf.one_hot(y, 4), logits=logits)
        ) + 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in (k1, k2, w)])
    gs = tape.gradient(loss, vs)
    for v, g in zip(vs, gs):
        v.assign_sub(0.05 * g)
    return loss


infer = tf.function(lambda x: tf.nn.softmax(net(x, False)))
x = tf.random.uniform([8, 16, 16, 3])
y = tf.constant([0, 1, 2, 3] * 2)
for i in range(3):
    l = train(x, y)
for i in range(2):
    p = infer(x)
print(l.shape, p.shape)
e = net(x, False)
d = tf.nn.depthwise_conv2d(x, tf.random.normal([3, 3, 3, 2]), [1, 1, 1, 1], "SAME")
a = tf.nn.avg_pool2d(d, 3, 2, "SAME")
with tf.GradientTape() as t:
    t.watch(x)
    z = tf.reduce_sum(tf.nn.avg_pool2d(tf.nn.conv2d(x, k1, 1, "SAME"), 2, 2, "VALID"))
print(t.gradient(z, x).shape, a.shape, e.shape)
