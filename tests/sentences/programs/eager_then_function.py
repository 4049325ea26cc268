"""An eager training loop first; then the trained model is put into a tf.function and called."""
import truth
import tensorflow as tf

w1 = tf.Variable(tf.random.stateless_normal((32, 64), seed=(1, 2)))
w2 = tf.Variable(tf.random.stateless_normal((64, 1), seed=(3, 4)))
x = tf.random.stateless_normal((64, 32), seed=(5, 6))
y = tf.random.stateless_normal((64, 1), seed=(7, 8))


def model(x):
    return tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)


for step in range(6):
    with truth.call("eager step"):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        for v, g in zip([w1, w2], tape.gradient(loss, [w1, w2])):
            v.assign_sub(0.01 * g)
        truth.asked("MatMul", 5)


@tf.function
def serve(x):
    truth.traced("serve")
    return model(x)


for i in range(4):
    with truth.call("serve"):
        serve(x)
truth.known("6 eager training steps BEFORE the first call of any function; afterwards only calls of serve", steps=6, matmuls=30)
