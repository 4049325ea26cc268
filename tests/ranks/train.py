"""One worker of a MultiWorkerMirroredStrategy: python train.py [--slow SECONDS] [--odd STEP]."""

import sys
import time

import numpy as np
import tensorflow as tf

SLOW = float(sys.argv[sys.argv.index("--slow") + 1]) if "--slow" in sys.argv else 0
ODD = int(sys.argv[sys.argv.index("--odd") + 1]) if "--odd" in sys.argv else -1
STEPS, BATCH = 8, 32

strategy = tf.distribute.MultiWorkerMirroredStrategy()
generator = np.random.default_rng(0)
data = generator.random((STEPS, BATCH, 64), dtype=np.float32)
with strategy.scope():
    first = tf.Variable(generator.random((64, 128), dtype=np.float32) / 64)
    second = tf.Variable(generator.random((128, 8), dtype=np.float32) / 128)


@tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32)])
def train_step(batch):
    def replica(batch):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(batch, first))
            loss = tf.reduce_mean(tf.square(tf.matmul(hidden, second) - 1.0))
        gradients = tape.gradient(loss, [first, second])
        context = tf.distribute.get_replica_context()
        gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
        first.assign_sub(0.1 * gradients[0])
        second.assign_sub(0.1 * gradients[1])
        return loss

    return strategy.run(replica, args=(batch,))


for step in range(STEPS):
    rows = BATCH // 2 if step == ODD else BATCH
    time.sleep(SLOW)
    train_step(tf.constant(data[step, :rows]))
