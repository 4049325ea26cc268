"""A compiled training step; beside it three small eager ops a step (a running mean of the loss)."""
import truth
import tensorflow as tf

w1 = tf.Variable(tf.random.stateless_normal((64, 256), seed=(1, 2)))
w2 = tf.Variable(tf.random.stateless_normal((256, 1), seed=(3, 4)))


@tf.function
def train_step(x, y):
    truth.traced("train_step")
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2) - y))
    for v, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
        v.assign_sub(0.01 * g)
    return loss


x = tf.random.stateless_normal((256, 64), seed=(5, 6))
y = tf.random.stateless_normal((256, 1), seed=(7, 8))
mean = tf.constant(0.0)
for step in range(12):
    with truth.call("train_step"):
        loss = train_step(x, y)
    with truth.phase("running mean"):
        mean = mean + (loss - mean) * 0.1
        truth.asked("Sub")
        truth.asked("Mul")
        truth.asked("AddV2")
print(float(mean))
truth.known("training is compiled; 3 small eager ops a step, 36 in all, no eager product, no eager tape", steps=12, eager_matmuls=0)
