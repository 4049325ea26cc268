"""A training loop without any tf.function: GradientTape, matrix products, an update, all eager."""
import truth
import tensorflow as tf

w1 = tf.Variable(tf.random.stateless_normal((32, 128), seed=(1, 2)))
w2 = tf.Variable(tf.random.stateless_normal((128, 1), seed=(3, 4)))
x = tf.random.stateless_normal((64, 32), seed=(5, 6))
y = tf.random.stateless_normal((64, 1), seed=(7, 8))
for step in range(8):
    with truth.call("eager step"):
        with tf.GradientTape() as tape:
            out = tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)
            loss = tf.reduce_mean(tf.square(out - y))
        grads = tape.gradient(loss, [w1, w2])
        for v, g in zip([w1, w2], grads):
            v.assign_sub(0.01 * g)
        truth.asked("MatMul", 5)
    print(f"step {step} loss {loss:.3f}")
truth.known("8 eager training steps, 2 matrix products forward and 3 backward each; no function", steps=8, matmuls=40)
