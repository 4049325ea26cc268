"""A process that it starts, and itself, call a function at the same time."""

import multiprocessing as mp


def work(n):
    import tensorflow as tf

    f = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, x)))
    for _ in range(3):
        f(tf.ones([8 + n, 8 + n]))


if __name__ == "__main__":
    other = mp.get_context("spawn").Process(target=work, args=(1,))
    other.start()
    work(0)
    other.join()
