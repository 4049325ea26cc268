import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
np.random.seed(1)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(24, activation="relu"),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(4),
    ]
)
opt = tf.keras.optimizers.Adam(0.01)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
acc = tf.keras.metrics.SparseCategoricalAccuracy()
mean = tf.keras.metrics.Mean()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_fn(y, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    acc.update_state(y, logits)
    mean.update_state(loss)
    return loss


@tf.function
def test_step(x, y):
    logits = model(x, training=False)
    acc.update_state(y, logits)


x = np.random.rand(60, 12).astype("f")
y = np.random.randint(0, 4, 60)
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(60).batch(20).prefetch(tf.data.AUTOTUNE)
test = tf.data.Dataset.from_tensor_slices((x[:20], y[:20])).batch(10)
for epoch in range(2):
    acc.reset_state()
    mean.reset_state()
    for bx, by in train:
        train_step(bx, by)
    print("epoch", epoch, 0 <= float(acc.result()) <= 1, float(mean.result()) > 0)
    acc.reset_state()
    for bx, by in test:
        test_step(bx, by)
    float(acc.result())
with tf.GradientTape() as tape:
    l = loss_fn(y[:5], model(x[:5]))
g = tape.gradient(l, model.trainable_weights)
opt.apply_gradients(zip(g, model.trainable_weights))
print(len(model.trainable_weights))
