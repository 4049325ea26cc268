"""What layers are made of: each is called eagerly, then traced."""

import tensorflow as tf

layers = tf.keras.layers

KINDS = [
    (layers.ZeroPadding2D(1), [1, 4, 4, 2]),
    (layers.Cropping2D(1), [1, 4, 4, 2]),
    (layers.UpSampling1D(2), [1, 4, 2]),
    (layers.RepeatVector(2), [1, 3]),
    (layers.Permute((2, 1)), [1, 3, 2]),
    (layers.Conv1D(2, 3, padding="causal"), [1, 6, 2]),
    (layers.Conv2DTranspose(2, 3, strides=2, padding="same"), [1, 4, 4, 2]),
    (layers.SeparableConv2D(3, 3), [1, 5, 5, 2]),
    (layers.MaxPooling1D(2), [1, 6, 2]),
    (layers.AveragePooling1D(2), [1, 6, 2]),
    (layers.PReLU(), [1, 3]),
    (layers.ThresholdedReLU(), [1, 3]),
    (layers.Masking(), [1, 3, 2]),
    (layers.Attention(), [1, 3, 2], [1, 3, 2]),
    (layers.AdditiveAttention(), [1, 3, 2], [1, 3, 2]),
    (layers.Dot(axes=1), [1, 2], [1, 2]),
    (layers.Rescaling(2.0), [1, 2]),
    (layers.Normalization(mean=0.0, variance=1.0), [1, 2]),
    (layers.GaussianNoise(0.1), [1, 2]),
]

for layer, *shapes in KINDS:

    def call(*inputs):
        return layer(inputs[0] if len(inputs) == 1 else list(inputs))

    call(*(tf.ones(shape) for shape in shapes))
    specs = [tf.TensorSpec([None, *shape[1:]]) for shape in shapes]
    concrete = tf.function(call, autograph=False).get_concrete_function(*specs)
    print(layer.name, concrete.outputs[0].shape)

labels, predictions = tf.TensorSpec([None]), tf.TensorSpec([None])
for metric in (tf.keras.metrics.Precision(), tf.keras.metrics.Recall()):

    def update(y_true, y_pred):
        metric.update_state(y_true, y_pred)

    tf.function(update, autograph=False).get_concrete_function(labels, predictions)

    def result():
        return metric.result()

    print(tf.function(result, autograph=False)())

for optimizer in (
    tf.keras.optimizers.Adamax(),
    tf.keras.optimizers.Adadelta(),
):
    variable = tf.Variable([1.0, 2.0])
    optimizer.build([variable])

    def step(gradient):
        optimizer.apply_gradients([(gradient, variable)])

    tf.function(step, autograph=False)(tf.constant([1.0, -1.0]))
    print(optimizer.name, variable.numpy())
