"""Loops whose bodies assign variables of their own in conditionals."""

import tensorflow as tf

tf.random.set_seed(17)
N_STATES, N_ACTIONS = 6, 2
P = tf.Variable(tf.zeros([N_STATES, N_ACTIONS]), name="Q")


def env_step(state, action):
    nxt = tf.where(action == 1, tf.minimum(state + 1, N_STATES - 1), tf.maximum(state - 1, 0))
    reward = tf.cast(nxt == N_STATES - 1, tf.float32)
    return nxt, reward, nxt == N_STATES - 1


@tf.function
def episode(q, eps, max_steps):
    state = tf.constant(0)
    total = tf.constant(0.0)
    steps = 0
    done = False
    while not done and steps < max_steps:
        if tf.random.uniform([]) < eps:
            action = tf.random.uniform([], 0, N_ACTIONS, tf.int32)
        else:
            action = tf.argmax(q[state], output_type=tf.int32)
        nxt, reward, done = env_step(state, action)
        target = reward + 0.9 * tf.reduce_max(q[nxt]) * (1.0 - tf.cast(done, tf.float32))
        q.scatter_nd_add([[state, action]], [0.5 * (target - q[state, action])])
        total += reward
        state = nxt
        steps += 1
    return total, steps


try:
    for i in range(8):
        r, s = episode(P, tf.constant(0.5), tf.constant(60))
        print(i, r.numpy(), s.numpy())
except Exception as e:
    print(type(e).__name__, str(e).strip().splitlines()[-1][:120])
print(P.numpy().round(3))

true = tf.constant([0.2, 0.5, 0.8])


@tf.function
def bandit(n):
    counts = tf.zeros([3])
    sums = tf.zeros([3])
    for t in tf.range(n):
        ucb = tf.where(
            counts > 0,
            sums / tf.maximum(counts, 1.0)
            + tf.sqrt(2.0 * tf.math.log(tf.cast(t, tf.float32) + 1.0) / tf.maximum(counts, 1.0)),
            1e9,
        )
        arm = tf.argmax(ucb)
        win = tf.cast(tf.random.stateless_uniform([], [t, 3]) < true[arm], tf.float32)
        hot = tf.one_hot(arm, 3)
        counts += hot
        sums += win * hot
    return counts, sums


c, s = bandit(tf.constant(100))
print(c.numpy(), s.numpy())

logits = tf.Variable(tf.zeros([3]))


@tf.function
def reinforce(seed):
    with tf.GradientTape() as tape:
        a = tf.random.stateless_categorical(logits[None], 16, seed)[0]
        rewards = tf.gather(true, a)
        adv = rewards - tf.reduce_mean(rewards)
        logp = tf.gather(tf.nn.log_softmax(logits), a)
        loss = -tf.reduce_mean(logp * tf.stop_gradient(adv))
    logits.assign_sub(2.0 * tape.gradient(loss, logits))
    return loss


for i in range(20):
    reinforce(tf.constant([i, 1]))
print(tf.nn.softmax(logits).numpy().round(3))


@tf.function
def discounted(rewards, gamma):
    n = tf.shape(rewards)[0]
    out = tf.TensorArray(tf.float32, n)
    acc = 0.0
    for i in tf.range(n - 1, -1, -1):
        acc = rewards[i] + gamma * acc
        out = out.write(i, acc)
    return out.stack()


print(discounted(tf.constant([1.0, 0.0, 2.0]), 0.5))
V = tf.zeros([N_STATES])
for sweep in range(3):
    nxt_r = tf.minimum(tf.range(N_STATES) + 1, N_STATES - 1)
    V = tf.maximum(tf.gather(V, nxt_r) * 0.9 + tf.cast(nxt_r == 5, tf.float32), V * 0.9)
print(V)
