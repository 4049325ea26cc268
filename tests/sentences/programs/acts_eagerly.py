"""Actor-critic: Keras' model and a sampler are called eagerly for each move, between compiled updates. Random ops make a kernel in each run."""
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
state = keras.Input((4,))
hidden = keras.layers.Dense(16, "tanh")(state)
model = keras.Model(state, [keras.layers.Dense(2)(hidden), keras.layers.Dense(1)(hidden)])
optimizer = keras.optimizers.SGD(1e-2)
MOVES, EPISODES = 4, 10


@tf.function
def update(states, actions):
    with tf.GradientTape() as tape:
        logits, values = model(states)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, logits)
        loss = tf.reduce_mean(loss * tf.stop_gradient(1 - values[:, 0])) + tf.reduce_mean((1 - values) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for episode in range(EPISODES):
    states, actions = rng.normal(size=(MOVES, 4)).astype("float32"), []
    for move in states:
        logits, _ = model(move[None])
        actions.append(int(tf.random.categorical(logits, 1)[0, 0]))
    update(tf.constant(states), tf.constant(actions))
