"""An eager loop with a Keras model, optimizer and metric: 8 steps, nothing compiled."""
import numpy as np, tensorflow as tf
x = np.random.rand(64, 8).astype("float32"); y = x.sum(1, keepdims=True)
m = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dropout(0.1), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.01); loss_fn = tf.keras.losses.MeanSquaredError(); seen = tf.keras.metrics.Mean()
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
for epoch in range(2):
    for a, b in data:
        with tf.GradientTape() as tape:
            loss = loss_fn(b, m(a, training=True))
        g = tape.gradient(loss, m.trainable_variables)
        opt.apply_gradients(zip(g, m.trainable_variables))
        seen.update_state(loss)
print(float(seen.result()))
