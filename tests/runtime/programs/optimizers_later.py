"""What optimizers of Keras 3 are made of: a step eagerly, then traced."""

import tensorflow as tf

optimizers = tf.keras.optimizers
for optimizer in (
    optimizers.Adamax(), optimizers.Adadelta(), optimizers.Nadam(), optimizers.Lion(),
    optimizers.Lamb(), optimizers.Ftrl(l1_regularization_strength=0.1),
    optimizers.SGD(use_ema=True), optimizers.Adagrad(),
):  # fmt: skip
    variable = tf.Variable([1.0, 2.0])
    optimizer.build([variable])

    def step(gradient):
        optimizer.apply_gradients([(gradient, variable)])

    step(tf.ones(2))
    tf.function(step, autograph=False).get_concrete_function(tf.TensorSpec([2]))
    print(optimizer.name, variable.numpy())
