"""The user's own transposes and quantizations, many of them, beside matrix products."""
import truth
import tensorflow as tf

w = tf.Variable(tf.random.stateless_normal((64, 64), seed=(1, 2)))


@tf.function
def attention_like(x):
    truth.traced("attention_like")
    for _ in range(2):
        heads = tf.transpose(tf.reshape(tf.matmul(x, w), (8, 128, 4, 16)), (0, 2, 1, 3))
        scores = tf.matmul(heads, heads, transpose_b=True)
        x = tf.reshape(tf.transpose(tf.matmul(scores, heads), (0, 2, 1, 3)), (8, 128, 64)) * 0.01
        x = tf.transpose(tf.sigmoid(tf.transpose(x, (1, 2, 0))) + tf.range(128.0)[:, None, None], (2, 0, 1))
    q = tf.quantization.quantize(x, -1.0, 1.0, tf.qint8, mode="SCALED", round_mode="HALF_TO_EVEN")
    return tf.quantization.dequantize(q.output, q.output_min, q.output_max, mode="SCALED")


x = tf.random.stateless_normal((8, 128, 64), seed=(3, 4))
for i in range(4):
    with truth.call("attention_like"):
        attention_like(x)
for i in range(5):
    with truth.phase("eager transposes"):
        t = tf.transpose(x, (2, 0, 1))
        p = tf.matmul(tf.reshape(t, (64, 1024)), tf.reshape(x, (1024, 64)))
        truth.asked("Transpose"), truth.asked("MatMul")
truth.known("in each call the user asked for 8 transposes, 1 quantization and 1 dequantization, and 5 times for an eager transpose: their reorders are no choice of oneDNN's", transposes_asked=8, quantizations_asked=2)
