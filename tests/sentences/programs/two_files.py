"""A small training step; recorded with standard output in one file and standard error in another."""
import truth
import tensorflow as tf

w1 = tf.Variable(tf.random.stateless_normal((32, 64), seed=(1, 2)))
w2 = tf.Variable(tf.random.stateless_normal((64, 4), seed=(3, 4)))


@tf.function
def step(x, y):
    truth.traced("step")
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2) - y))
    for v, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
        v.assign_sub(0.1 * g)
    return loss


x = tf.random.stateless_normal((16, 32), seed=(5, 6))
y = tf.random.stateless_normal((16, 4), seed=(7, 8))
for i in range(5):
    with truth.call("step"):
        loss = step(x, y)
    print(f"loss {loss:.4f}", flush=True)
truth.known("oneDNN ran 5 matrix products a step; which op ran which can't be seen in two files", matmuls=25)
