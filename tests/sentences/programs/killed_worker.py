"""Two spawned processes; the first is killed between two ops, the other and the program end well."""

import multiprocessing
import os
import signal
import sys

import tensorflow as tf


def work(number):
    x = tf.ones([8, 8])
    for step in range(6):
        x = tf.matmul(x, x) * 0.1
        if number == 0 and step == 3 and "live" not in sys.argv:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    for number in range(2):
        process = multiprocessing.get_context("spawn").Process(target=work, args=(number,))
        process.start()
        process.join()
