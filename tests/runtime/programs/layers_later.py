"""What layers of Keras 3 are made of: each is called eagerly, then traced."""

import tensorflow as tf

tf.keras.utils.set_random_seed(4)
layers = tf.keras.layers

KINDS = [
    (layers.ZeroPadding2D(1), [1, 4, 4, 2]),
    (layers.ZeroPadding1D((1, 2)), [1, 4, 2]),
    (layers.Cropping2D(((1, 0), (1, 2))), [1, 4, 4, 2]),
    (layers.Cropping1D(1), [1, 4, 2]),
    (layers.UpSampling1D(2), [1, 4, 2]),
    (layers.UpSampling2D((2, 3)), [1, 4, 4, 2]),
    (layers.RepeatVector(2), [1, 3]),
    (layers.Conv1D(2, 3, padding="causal", activation="relu"), [1, 6, 2]),
    (layers.Conv1DTranspose(2, 3, strides=2), [1, 4, 2]),
    (layers.Conv2DTranspose(2, 3, strides=2, padding="same"), [1, 4, 4, 2]),
    (layers.Conv2DTranspose(2, 2, strides=2, output_padding=1), [1, 4, 4, 2]),
    (layers.SeparableConv1D(3, 3), [1, 5, 2]),
    (layers.SeparableConv2D(3, 3), [1, 5, 5, 2]),
    (layers.DepthwiseConv1D(3), [1, 5, 2]),
    (layers.PReLU(), [1, 3]),
    (layers.PReLU(shared_axes=[1, 2]), [1, 3, 3, 2]),
    (layers.Attention(), [1, 3, 2], [1, 3, 2]),
    (layers.Attention(use_scale=True, score_mode="concat"), [1, 3, 2], [1, 3, 2]),
    (layers.AdditiveAttention(), [1, 3, 2], [1, 3, 2]),
    (layers.GaussianNoise(0.1), [1, 2]),
    (layers.GaussianDropout(0.1), [1, 2]),
    (layers.AlphaDropout(0.1), [1, 2]),
    (layers.SpatialDropout1D(0.5), [1, 3, 2]),
    (layers.SpatialDropout2D(0.5), [1, 3, 3, 2]),
    (layers.ActivityRegularization(0.1), [1, 2]),
    (layers.GroupNormalization(2), [1, 3, 4]),
    (layers.UnitNormalization(), [1, 3]),
    (layers.RMSNormalization(), [1, 3]),
]

for layer, *shapes in KINDS:
    drawing = {"training": True} if hasattr(layer, "seed_generator") else {}

    def call(*inputs):
        return layer(inputs[0] if len(inputs) == 1 else list(inputs), **drawing)

    call(*(tf.ones(shape) for shape in shapes))
    specs = [tf.TensorSpec([None, *shape[1:]]) for shape in shapes]
    concrete = tf.function(call, autograph=False).get_concrete_function(*specs)
    print(layer.name, concrete.outputs[0].shape)
