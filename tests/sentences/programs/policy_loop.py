"""Reinforcement learning: a small policy network called eagerly for each move, a compiled update now and then."""
import truth
import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
w1 = tf.Variable(tf.random.stateless_normal((4, 32), seed=(1, 2)) * 0.1)
w2 = tf.Variable(tf.random.stateless_normal((32, 2), seed=(3, 4)) * 0.1)
MOVES, EPISODES = 8, 4


def policy(state):
    return tf.matmul(tf.nn.tanh(tf.matmul(state, w1)), w2)


@tf.function
def update(states, actions, rewards):
    truth.traced("update")
    with tf.GradientTape() as tape:
        chosen = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, policy(states))
        loss = tf.reduce_mean(chosen * rewards)
    for v, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
        v.assign_sub(0.01 * g)
    return loss


for episode in range(EPISODES):
    state, states, actions = rng.normal(size=4), [], []
    for move in range(MOVES):
        with truth.phase("move"):
            logits = policy(tf.constant(state[None], tf.float32))
            action = int(tf.random.categorical(logits, 1)[0, 0])
            truth.asked("MatMul", 2), truth.asked("Multinomial")
        states.append(state)
        actions.append(action)
        state = 0.9 * state + 0.1 * rng.normal(size=4)
    with truth.call("update"):
        update(
            tf.constant(np.stack(states), tf.float32),
            tf.constant(actions),
            tf.constant(np.linspace(1, 0, MOVES), tf.float32),
        )
truth.known("64 eager products choose moves, none trains; all 4 updates run in one compiled function", eager_matmuls=2 * MOVES * EPISODES, updates=EPISODES, retraces=0)
