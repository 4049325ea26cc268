"""What Python code raises inside of graphs, with messages of two lines and causes, and is caught; an assertion that fails."""

import tensorflow as tf


def python(x):
    raise ValueError("no such thing\nin two lines")


def caused():
    try:
        yield 1
        raise KeyError("first")
    except KeyError as error:
        raise RuntimeError("second\n\nand third") from error


@tf.function
def calls(x):
    return tf.py_function(python, [x], tf.float32)


@tf.function
def below(x):
    tf.debugging.assert_less(x, 1.0, message="of\nmany\nlines")
    return x


print("begins", flush=True)
for attempt in (
    lambda: calls(tf.ones(2)),
    lambda: below(tf.ones(2)),
    lambda: list(tf.data.Dataset.from_generator(caused, output_signature=tf.TensorSpec((), tf.int32))),
):
    try:
        attempt()
    except Exception as error:
        print("caught", type(error).__name__, flush=True)
print("in two lines", flush=True)
print("ends", flush=True)
