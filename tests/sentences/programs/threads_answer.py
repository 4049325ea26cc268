"""Four threads answer ten requests each. `computes`: Python code of 10 ms of the processor after each; `sleeps`: as much sleep."""
import sys
import threading
import time
import truth
import tensorflow as tf

w, x = tf.Variable(tf.ones((16, 4))), tf.ones((4, 16))


@tf.function
def predict(x):
    return tf.nn.softmax(tf.matmul(x, w))


def computes():
    until = time.thread_time() + 0.01
    while time.thread_time() < until:
        sum(range(1000))


def answer(between):
    for _ in range(10):
        with truth.call("predict"):
            predict(x)
        between()


predict(x)
between = {"computes": computes, "sleeps": lambda: time.sleep(0.01)}[sys.argv[1]]
threads = [threading.Thread(target=answer, args=(between,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
truth.known("40 calls in four threads; 9 gaps of each thread hold 10 ms of Python or of sleep: 360 ms", calls=41)
