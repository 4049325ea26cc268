"""A shuffle behind a slow map: each epoch waits at its first batch, until the buffer is full."""

import tensorflow as tf

waves = tf.random.normal([32, 16384])


def spectrogram(wave):
    spectrum = tf.abs(tf.signal.stft(wave, frame_length=256, frame_step=16))
    return tf.reduce_mean(tf.math.log(spectrum + 1e-6), 0)


@tf.function
def step(batch):
    return tf.reduce_mean(batch)


data = tf.data.Dataset.from_tensor_slices(waves).map(spectrogram).shuffle(32).batch(2)
for _ in range(5):
    for batch in data:
        step(batch)
