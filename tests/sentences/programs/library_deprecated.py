"""TF-Agents' buffer, with a deprecated method, and a deprecated function of the program itself."""

import tensorflow as tf
from tensorflow.python.util import deprecation
from tf_agents.replay_buffers import tf_uniform_replay_buffer

buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(tf.TensorSpec([3], tf.float32), batch_size=1, max_length=4)
double = tf.function(lambda row: row * 2)


@deprecation.deprecated(None, "Use double.")
def root(row):
    return tf.sqrt(row)


row = tf.zeros([1, 3])
for _ in range(3):
    double(row)
    buffer.add_batch(row)
    buffer.gather_all()
    root(row)
