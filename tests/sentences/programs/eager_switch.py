"""A tf.function run as a graph, then op by op (run_functions_eagerly), then as a graph again."""
import truth
import tensorflow as tf

w = tf.Variable(tf.random.stateless_normal((32, 32), seed=(1, 2)))


@tf.function
def train_step(x):
    truth.traced("train_step (body ran)", eagerly=tf.executing_eagerly())
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(x, w))))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


x = tf.random.stateless_normal((16, 32), seed=(3, 4))
for how in ("graph", "eager", "graph"):
    tf.config.run_functions_eagerly(how == "eager")
    for i in range(5):
        with truth.call(f"train_step {how}"):
            train_step(x)
truth.known(
    "5 steps ran as a graph, then 5 op by op (2 matrix products each, forward and for w), then 5 as a graph",
    graph_steps=10,
    eager_steps=5,
    eager_matmuls=10,
)
truth.known("the function was traced once; op by op is no trace", traces=1)
