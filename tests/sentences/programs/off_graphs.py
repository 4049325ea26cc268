"""A small convolutional network in a tf.function; recorded with TF_ENABLE_ONEDNN_OPTS=0."""
import truth
import tensorflow as tf

kernel = tf.Variable(tf.random.stateless_normal((3, 3, 1, 8), seed=(1, 2)))
w = tf.Variable(tf.random.stateless_normal((8 * 8 * 8, 10), seed=(3, 4)))
w64 = tf.Variable(tf.random.stateless_normal((10, 10), seed=(3, 4), dtype=tf.float64))


@tf.function
def step(x, label):
    truth.traced("step")
    with tf.GradientTape() as tape:
        h = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME"))
        h = tf.nn.max_pool2d(h, 2, 2, "VALID")
        logits = tf.matmul(tf.reshape(h, (-1, 512)), w)
        logits = tf.cast(tf.matmul(tf.cast(logits, tf.float64), w64), tf.float32)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits))
    for v, g in zip((kernel, w), tape.gradient(loss, (kernel, w))):
        v.assign_sub(0.01 * g)
    return loss


x = tf.random.stateless_normal((8, 16, 16, 1), seed=(5, 6))
label = tf.range(8)
for i in range(4):
    with truth.call("step"):
        loss = step(x, label)
truth.known("oneDNN was switched off by TF_ENABLE_ONEDNN_OPTS=0; the double products would not be rewritten with it on either")
