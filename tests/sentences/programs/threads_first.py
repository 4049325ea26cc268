"""Four threads make the first call of one function at once, and two threads those of two that XLA compiles."""
import truth
import threading
import tensorflow as tf

w = tf.Variable(tf.ones((3, 3, 3, 8)))


@tf.function
def serve(x):
    truth.traced("serve")
    for _ in range(6):
        x = tf.nn.relu(tf.nn.conv2d(x, tf.reshape(w, (3, 3, 3, 8))[:, :, :, :3], 1, "SAME"))
    return tf.linalg.matmul(tf.reshape(x, (8, -1)), tf.ones((16 * 16 * 3, 4)))


@tf.function(jit_compile=True)
def one(x):
    return tf.reduce_sum(tf.linalg.matmul(x, x))


@tf.function(jit_compile=True)
def two(x):
    return tf.reduce_sum(tf.tanh(x) * x)


def at_once(functions, x, calls):
    barrier = threading.Barrier(len(functions))

    def client(function, name):
        barrier.wait()
        for _ in range(calls):
            with truth.call(name):
                function(x)

    threads = [threading.Thread(target=client, args=each) for each in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


at_once([(serve, "serve")] * 4, tf.ones((8, 16, 16, 3)), 5)
at_once([(one, "one"), (two, "two")], tf.ones((64, 64)), 3)
truth.known("serve is traced once; its first call waits while others instantiate it, too", calls=26, retraces=0)
