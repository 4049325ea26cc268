"""A network with local response normalization (AlexNet's), in a function and eagerly."""
import truth
import tensorflow as tf

k1 = tf.Variable(tf.random.stateless_normal((5, 5, 3, 16), seed=(1, 2)) * 0.1)
k2 = tf.Variable(tf.random.stateless_normal((3, 3, 16, 16), seed=(3, 4)) * 0.1)
w = tf.Variable(tf.random.stateless_normal((4 * 4 * 16, 10), seed=(5, 6)) * 0.1)


@tf.function
def train_step(x, label):
    truth.traced("train_step")
    with tf.GradientTape() as tape:
        h = tf.nn.lrn(tf.nn.relu(tf.nn.conv2d(x, k1, 2, "SAME")), depth_radius=2)
        h = tf.nn.lrn(tf.nn.relu(tf.nn.conv2d(h, k2, 2, "SAME")), depth_radius=5)
        logits = tf.matmul(tf.reshape(h, (-1, 256)), w)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits))
    for v, g in zip((k1, k2, w), tape.gradient(loss, (k1, k2, w))):
        v.assign_sub(0.01 * g)
    return loss


x = tf.random.stateless_normal((8, 16, 16, 3), seed=(7, 8))
label = tf.range(8)
for i in range(4):
    with truth.call("train_step"):
        train_step(x, label)
for i in range(3):
    with truth.phase("eager lrn"):
        tf.nn.lrn(x, depth_radius=2)
        tf.matmul(tf.reshape(x, (8, 768)), tf.reshape(x, (8, 768)), transpose_b=True)
        truth.asked("LRN"), truth.asked("MatMul")
truth.known("2 LRN a step, and each eager LRN, run one gemm of their own (Eigen's contraction kernel is oneDNN's gemm); LRNGrad runs none", lrn=8, lrn_eager=3)
