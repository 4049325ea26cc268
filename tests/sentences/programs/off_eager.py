"""Matrix products and a convolution, all eager, no function; recorded with TF_ENABLE_ONEDNN_OPTS=0."""
import truth
import tensorflow as tf

a = tf.random.stateless_normal((128, 256), seed=(1, 2))
b = tf.random.stateless_normal((256, 128), seed=(3, 4))
image = tf.random.stateless_normal((2, 16, 16, 4), seed=(5, 6))
kernel = tf.random.stateless_normal((3, 3, 4, 8), seed=(7, 8))
double = tf.cast(a, tf.float64)
for i in range(5):
    with truth.call("round"):
        c = tf.matmul(a, b)
        d = tf.nn.softmax(tf.matmul(c, c))
        e = tf.nn.conv2d(image, kernel, 1, "SAME")
        f = tf.matmul(double, double, transpose_b=True)
        truth.asked("MatMul", 3)
        truth.asked("Softmax")
        truth.asked("Conv2D")
print(float(tf.reduce_sum(d)), e.shape, f.dtype)
truth.known("no tf.function; oneDNN off: 10 float MatMul, 5 Softmax, 5 Conv2D could have run on it, 5 double MatMul not")
