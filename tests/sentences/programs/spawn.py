"""A pool of two spawned processes, each of which calls a function."""
import multiprocessing as mp
def work(n):
    import tensorflow as tf
    f = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, x)))
    for _ in range(3):
        f(tf.ones([8 + n, 8 + n]))
    return n
if __name__ == "__main__":
    with mp.get_context("spawn").Pool(2) as pool:
        print(pool.map(work, [0, 1], chunksize=1))
