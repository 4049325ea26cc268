"""A package, TensorFlow Similarity, that calls Keras' predict for each of five queries."""

import numpy as np
import tensorflow as tf
from tensorflow_similarity.layers import MetricEmbedding
from tensorflow_similarity.losses import MultiSimilarityLoss
from tensorflow_similarity.models import SimilarityModel

x, y = np.random.rand(20, 4).astype("float32"), np.arange(20) % 5
inputs = tf.keras.layers.Input((4,))
model = SimilarityModel(inputs, MetricEmbedding(4)(inputs))
model.compile("adam", loss=MultiSimilarityLoss())
model.index(x, y)
for query in range(5):
    model.lookup(x[query : query + 1], k=3, verbose=0)
