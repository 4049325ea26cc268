"""A GAN: d_step and g_step in turn, each a tf.function, in a loop of one's own."""
import truth
import tensorflow as tf

NOISE, BATCH, STEPS = 16, 32, 6
tf.random.set_seed(0)


def dense(i, o):
    return tf.Variable(tf.random.normal((i, o), stddev=0.1)), tf.Variable(tf.zeros((o,)))


G = [dense(NOISE, 64), dense(64, 128)]
D = [dense(128, 64), dense(64, 1)]
g_vars, d_vars = [v for p in G for v in p], [v for p in D for v in p]


def generate(z):
    h = tf.nn.relu(tf.matmul(z, G[0][0]) + G[0][1])
    return tf.tanh(tf.matmul(h, G[1][0]) + G[1][1])


def judge(x):
    h = tf.nn.relu(tf.matmul(x, D[0][0]) + D[0][1])
    return tf.matmul(h, D[1][0]) + D[1][1]


def bce(logits, label):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.fill(tf.shape(logits), label), logits))


def descend(variables, grads):
    for v, g in zip(variables, grads):
        v.assign_sub(0.05 * g)


@tf.function
def d_step(real, z):
    truth.traced("d_step")
    with tf.GradientTape() as tape:
        loss = bce(judge(real), 1.0) + bce(judge(generate(z)), 0.0)
    descend(d_vars, tape.gradient(loss, d_vars))
    return loss


@tf.function
def g_step(z):
    truth.traced("g_step")
    with tf.GradientTape() as tape:
        loss = bce(judge(generate(z)), 1.0)
    descend(g_vars, tape.gradient(loss, g_vars))
    return loss


real = tf.random.uniform((BATCH, 128))
for step in range(STEPS):
    z = tf.random.normal((BATCH, NOISE))
    truth.asked("RandomStandardNormal")
    with truth.call("d_step"):
        d_loss = d_step(real, z)
    with truth.call("g_step"):
        g_loss = g_step(z)
    print(f"step {step} d {d_loss:.3f} g {g_loss:.3f}")
truth.known("between two calls of d_step a call of g_step runs, and one random normal; nothing else of note")
truth.known("all training runs in two compiled functions; no eager matrix product", eager_matmuls=0)
