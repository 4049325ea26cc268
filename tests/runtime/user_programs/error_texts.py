"""What TensorFlow says when something is wrong."""

import numpy as np
import tensorflow as tf

try:
    tf.constant([1, 2]) + tf.constant([1.0, 2.0])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.constant([1, 2]) + tf.constant([1, 2, 3])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.reshape(tf.ones([4]), [3])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.concat([tf.ones([2, 2]), tf.ones([3, 3])], 0)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.constant([[1, 2], [3]])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.constant("a") + 1
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.constant([1, 2])[5]
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    bool(tf.constant([1, 2]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.cast("a", tf.int32)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.debugging.assert_equal(1, 2, message="no")
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.debugging.assert_shapes([(tf.ones([2, 3]), ("N", 4))])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.debugging.check_numerics(tf.constant([1.0, np.nan]), "bad")
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.debugging.assert_type(tf.constant(1), tf.float32)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.debugging.assert_rank(tf.ones([2]), 2)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.Variable([1, 2]).assign([1, 2, 3])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.Variable(1.0).assign(tf.constant(1))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.squeeze(tf.ones([2, 2]), 0)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.split(tf.ones([5]), 2)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.linalg.inv(tf.zeros([2, 2]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.convert_to_tensor(None)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.convert_to_tensor([1, "a"])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.constant(1.5, tf.int32)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.zeros([-1])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.strings.to_number("x")
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    1 // tf.constant(0)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.nn.softmax_cross_entropy_with_logits(tf.ones([2, 3]), tf.ones([2, 4]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[5], logits=[[1.0, 2.0]])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.keras.layers.Dense(2)(tf.constant([1.0]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    d = tf.keras.layers.Dense(2)
    d(tf.ones([1, 3]))
    d(tf.ones([1, 4]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    m = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    m.summary()
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    m.fit(np.ones([2, 2]), np.ones([2]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    m.compile("nope", "mse")
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    m = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    m.compile("sgd", "mse")
    m.fit(np.ones([2, 2]), np.ones([3]), verbose=0)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.keras.layers.Conv2D(2, 3)(tf.ones([4, 4, 3]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.keras.layers.LSTM(2)(tf.ones([2, 3]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.Variable(lambda: tf.ones([2])).assign_add([1.0, 1.0, 1.0])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.keras.layers.Embedding(3, 2)(tf.constant([5]))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.gather([1, 2, 3], [3])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.tensor_scatter_nd_update(tf.zeros([3]), [[5]], [1.0])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.stack([tf.ones([2]), tf.ones([3])])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.ensure_shape(tf.ones([2]), [3])
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.random.uniform([2], maxval=10, dtype=tf.int32, minval=20)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.clip_by_value(tf.constant([1, 2]), 0, 1.5)
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    hash(tf.constant(1))
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    {tf.Variable(1): 1}
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

with tf.device("/GPU:0"):
    print((tf.constant(1) + 1).device)

with tf.device("/CPU:0"):
    print((tf.constant(1) + 1).device)

try:
    raise tf.errors.InvalidArgumentError(None, None, "mine")
except Exception as error:
    print(type(error).__name__, " ".join(str(error).split())[:300])

try:
    tf.gather([1], [2])
except tf.errors.InvalidArgumentError as e:
    print(e.error_code, type(e).__mro__[1].__name__, e.message[:60])
try:
    tf.constant([1]) + tf.constant([1.0])
except Exception as e:
    print(type(e))
