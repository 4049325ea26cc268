import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
rate = keras.optimizers.schedules.PiecewiseConstantDecay([4], [0.1, 0.01])
model.compile(keras.optimizers.SGD(rate), "mse")


class Rate(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(epoch, float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)))
        if epoch == 1:
            self.kept = tf.math.rsqrt(4.0)


x = np.random.rand(32, 8).astype("float32")
model.fit(x, x[:, :4], batch_size=16, epochs=3, verbose=0, callbacks=[Rate()])
