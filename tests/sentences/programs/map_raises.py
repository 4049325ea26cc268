"""A map function that fails for one element in the middle; the loop catches it and goes on."""
import truth
import tensorflow as tf

w = tf.Variable(tf.ones((4, 4)))


def parse(i):
    truth.traced("parse")
    return tf.gather(tf.eye(6), i * tf.where(i == 3, 100, 1))[:4]


@tf.function
def step(row):
    truth.traced("step")
    return tf.reduce_sum(tf.matmul(row[None, :], w))


data = iter(tf.data.Dataset.range(6).map(lambda i: parse(tf.cast(i, tf.int32))))
good = bad = 0
while True:
    try:
        row = next(data)
    except StopIteration:
        break
    except tf.errors.InvalidArgumentError as error:
        truth.failed("element 3", error)
        bad += 1
        continue
    with truth.call("step"):
        step(row)
    good += 1
print("good", good, "bad", bad)
truth.known("element 3 failed with INVALID_ARGUMENT in the map function; five others were fine", good=good, failures=bad)
