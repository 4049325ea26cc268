"""Batches from generators and sequences, data sets of odd sizes, texts as numbers; models of
structured inputs made again, wrapped layers, rarer metrics.
"""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, metrics
from tensorflow.keras.optimizers import schedules
from tensorflow.keras.preprocessing.sequence import pad_sequences
from tensorflow.keras.preprocessing.text import Tokenizer, tokenizer_from_json

keras = tf.keras
keras.utils.set_random_seed(4)
x = np.random.rand(45, 4).astype("float32")
y = (x.sum(1) > 2).astype("float32")


def attempt(label, function):
    try:
        print(label, function())
    except Exception as error:
        print(label, type(error).__name__, str(error).splitlines()[0][:100])


def model():
    keras.utils.set_random_seed(8)
    made = keras.Sequential(
        [layers.Dense(6, activation="selu"), layers.AlphaDropout(0.2), layers.Dense(1)]
    )
    made.compile("sgd", "mse", metrics=["mae"])
    return made


def told(history):
    return {name: [f"{each:.4f}" for each in values] for name, values in history.history.items()}


def batches():
    while True:
        for start in range(0, 45, 15):
            yield x[start : start + 15].astype("float64"), y[start : start + 15]


class Batches(keras.utils.Sequence):
    def __len__(self):
        return 3

    def __getitem__(self, number):
        return x[number * 15 : number * 15 + 15], y[number * 15 : number * 15 + 15]

    def on_epoch_end(self):
        print("an epoch of the sequence is over")


# 45, 1 more than a multiple of 4: each epoch is shuffled anew
print("arrays", told(model().fit(x, y, epochs=4, verbose=0)))
print("generator", told(model().fit(batches(), steps_per_epoch=3, epochs=2, verbose=0)))
print("sequence", told(model().fit(Batches(), epochs=2, verbose=0, shuffle=False)))
print("shuffled", told(model().fit(Batches(), epochs=2, verbose=0)))
again = model()
print(
    "prediction",
    again.predict(Batches(), verbose=0).shape,
    again.evaluate(batches(), steps=2, verbose=0)[1] > 0,
)
attempt("labels too", lambda: model().fit(batches(), y))
attempt("labels too", lambda: model().fit(Batches(), y))

tokens = Tokenizer(num_words=6, oov_token="?")
tokens.fit_on_texts(["The cat sat, the cat ran.", "a dog barked", ["The", "dog"]])
print(tokens.word_index, sorted(tokens.word_docs.items()), tokens.document_count)
numbers = tokens.texts_to_sequences(["the dog sat", "nobody barked"])
print(numbers, tokens.sequences_to_texts(numbers))
print(pad_sequences(numbers, maxlen=4))
for mode in ("binary", "count", "freq", "tfidf"):
    print(mode, tokens.texts_to_matrix(["the cat the dog"], mode=mode).round(3))
print(tokenizer_from_json(tokens.to_json()).texts_to_sequences(["the cat"]))
attempt("one hot", lambda: keras.utils.to_categorical([3], 2))

left, right = keras.Input((3,), name="left"), keras.Input((2,), name="right")
wrapped = layers.TimeDistributed(layers.Dense(2), name="each")
joined = layers.Concatenate()([left, layers.Dense(3)(right)])
heads = {"b": layers.Dense(1)(joined), "a": wrapped(layers.Reshape((2, 3))(joined))}
two = keras.Model({"l": left, "r": right}, heads)
copy = keras.Model.from_config(two.get_config())
copy.set_weights(two.get_weights())
data = {"l": np.ones((1, 3)), "r": np.ones((1, 2))}
first, second = two.predict(data, verbose=0), copy.predict(data, verbose=0)
print({name: (value.shape, np.allclose(value, second[name])) for name, value in first.items()})
print(two.get_config()["output_layers"], [weight.name for weight in wrapped.weights])
print(two.get_config()["input_layers"])

labels, guesses = np.array([0.0, 1, 1, 0, 1, 0]), np.array([0.2, 0.8, 0.4, 0.6, 0.9, 0.1])
for metric in (
    metrics.SensitivityAtSpecificity(0.5),
    metrics.SpecificityAtSensitivity(0.9, num_thresholds=5),
    metrics.PrecisionAtRecall(0.5),
    metrics.RecallAtPrecision(precision=0.7, name="r"),
    metrics.MeanRelativeError([0.5] * 6),
):
    metric.update_state(labels, guesses)
    print(metric.name, f"{metric.result():.4f}")
rows, likely = (
    np.eye(3)[[0, 1, 2, 2]],
    np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0, 0.2, 0.8], [0.9, 0, 0.1]]),
)
for average in (None, "micro", "macro", "weighted"):
    score, other = (
        metrics.F1Score(average=average),
        metrics.FBetaScore(average, beta=2.0, threshold=0.35),
    )
    print(average, score(rows, likely).numpy().round(4), other(rows, likely).numpy().round(4))
attempt("metric", lambda: metrics.F1Score(threshold=2.0))
attempt("metric", lambda: metrics.PrecisionAtRecall(1.5))
attempt("metric", lambda: metrics.F1Score()(labels, guesses))
unknown = model()
unknown.compile("sgd", "mse", metrics=["nonsense"])
attempt("metric", lambda: unknown.fit(x, y, verbose=0))
attempt("layer", lambda: layers.Reshape((5, 2))(keras.Input((9,))))
attempt("layer", lambda: layers.Reshape((5, 2))(tf.ones((1, 9))))
decay = schedules.deserialize(schedules.serialize(schedules.CosineDecay(0.1, 10)))
print(type(decay).__name__, f"{float(decay(5)):.4f}")
