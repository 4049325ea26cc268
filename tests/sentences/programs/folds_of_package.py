"""Cross-validation that scikit-learn runs, with models that SciKeras builds: one for each of four folds."""

import keras
import numpy as np
from scikeras.wrappers import KerasClassifier
from sklearn.model_selection import cross_val_score

x, y = np.random.rand(16, 3).astype("float32"), np.arange(16) % 2


def make():
    return keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1, "sigmoid")])


print(cross_val_score(KerasClassifier(make, loss="binary_crossentropy", verbose=0), x, y, cv=4))
