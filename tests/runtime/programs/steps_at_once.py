"""Several steps in one call, moving averages of the weights, the best weights at the end."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(4)
K = tf.keras
m = K.Sequential([K.Input((4,)), K.layers.Dense(3, activation="relu"), K.layers.Dense(2)])
m.compile(
    K.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9),
    K.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[K.metrics.SparseTopKCategoricalAccuracy(1)],
    steps_per_execution=2,
)
a = np.random.rand(10, 4).astype("float32")
stop = K.callbacks.EarlyStopping("loss", patience=1, restore_best_weights=True)
print(m.fit(a, np.arange(10) % 2, batch_size=2, epochs=2, verbose=0, callbacks=[stop]).history)
print(m.evaluate(a, np.arange(10) % 2, batch_size=4, verbose=0))
print(m.predict(a, batch_size=4, verbose=0).shape)
