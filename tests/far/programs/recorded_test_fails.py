import numpy as np, pytest, tensorflow as tf


@pytest.fixture(scope="module")
def layer():
    l = tf.keras.layers.Dense(4)
    l.build((None, 8))
    return l


@tf.function
def f(x):
    return tf.reduce_sum(tf.matmul(x, x, transpose_b=True))


@pytest.mark.parametrize("n", [4, 8, 16])
def test_f(n):
    x = tf.ones([n, 8])
    assert float(f(x)) == n * n * 8
    print("n is", n)


def test_layer(layer):
    assert layer(tf.ones([2, 8])).shape == (2, 5)


def test_raises():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))


def test_xfail_raise():
    with pytest.raises(Exception):
        tf.reshape(tf.ones([3]), [2])
