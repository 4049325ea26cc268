"""Two forked processes that write into one file, each with a few products; the parent runs nothing."""

import multiprocessing

import tensorflow as tf


def work(size):
    @tf.function
    def square(x):
        return tf.reduce_sum(x @ x)

    for _ in range(3):
        square(tf.ones((size, size)))


children = [multiprocessing.get_context("fork").Process(target=work, args=(size,)) for size in (4, 5)]
for each in children:
    each.start()
for each in children:
    each.join()
