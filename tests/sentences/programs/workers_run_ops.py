"""A PyDataset whose workers run an eager op for each batch."""

import numpy as np
import tensorflow as tf
import keras


class Data(keras.utils.PyDataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        x = tf.nn.relu(tf.constant(np.full((8, 4), index, "float32")))
        return x.numpy(), np.ones((8, 1), "float32")


keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Data(workers=2, use_multiprocessing=False), epochs=2, verbose=0)
