"""Ends at the sixteenth step, in the way that its argument says."""

import sys
import threading

import tensorflow as tf

@tf.function
def step(x, w):
    return tf.reduce_sum(tf.matmul(x, w))
def main(how):
    w = tf.Variable(tf.random.normal([8, 8]))
    ds = tf.data.Dataset.from_tensor_slices(tf.random.normal([100, 8])).batch(4).prefetch(2)
    for i, x in enumerate(ds):
        step(x, w)
        if i == 15:
            if how == "key": {}["missing"]
            if how == "exit3": sys.exit(3)
            if how == "exit0": sys.exit(0)
            if how == "exitmsg": sys.exit("no data left")
            if how == "abort":
                import os; os.abort()
            if how == "kill":
                import os; os.kill(os.getpid(), 9)
            if how == "segv":
                import faulthandler; faulthandler.enable()
                import ctypes; ctypes.string_at(0)
            if how == "caught":
                try: {}["missing"]
                except KeyError:
                    import traceback; traceback.print_exc()
            if how == "thread":
                t = threading.Thread(target=lambda: {}["in a thread"]); t.start(); t.join()
            if how == "chain":
                try: {}["missing"]
                except KeyError as e: raise RuntimeError("a\nb\nc") from e
main(sys.argv[1])
