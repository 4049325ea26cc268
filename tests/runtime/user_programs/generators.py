"""`tf.random.Generator`: a state that goes on, in functions too."""

import tensorflow as tf

generator = tf.random.Generator.from_seed(1234)
print(generator.state.numpy(), generator.algorithm)
print(generator.normal([3]), generator.uniform([2, 2]))
print(generator.uniform([4], 0, 10, tf.int32), generator.uniform([2], 5.0, 6.0))
print(generator.truncated_normal([3], mean=2.0, stddev=0.1))
print(generator.uniform_full_int([2], tf.int32), generator.uniform([2], None, None, tf.int64))
print(generator.normal([2], dtype=tf.float64), generator.normal([]))
print(generator.state.numpy(), generator.key)
print(generator.make_seeds(2))
print([each.normal([1]).numpy() for each in generator.split(2)])
print(generator.skip(3), generator.state.numpy())
generator.reset_from_seed(5)
print(generator.normal([2]))
generator.reset_from_key_counter(7, [0, 1])
print(generator.normal([2]), tf.random.create_rng_state(3, "philox"))
print(tf.random.Generator.from_key_counter(1, [0, 0], "philox").normal([2]))
copied = tf.random.Generator(copy_from=generator)
print(copied.normal([2]), generator.normal([2]))
tf.random.set_global_generator(tf.random.Generator.from_seed(1))
print(tf.random.get_global_generator().normal([2]))


@tf.function
def draw(count):
    return generator.normal([count]), generator.uniform([], 0, 100, tf.int32)


print(draw(2), draw(2), draw(3), generator.state.numpy())


class Noise(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.generator = tf.random.Generator.from_seed(3)

    def call(self, x):
        return x + self.generator.normal(tf.shape(x))


noise = Noise()
print(noise(tf.zeros([3])), tf.function(noise)(tf.zeros([3])), len(noise.weights))
