"""`tf.random`."""

from __future__ import annotations

from tflogscope.runtime.api import random_experimental as experimental
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import generator, random, rejection

Algorithm = generator.Algorithm
Generator = generator.Generator

categorical = random.categorical
create_rng_state = generator.create_rng_state
fold_in = random.stateless_fold_in
gamma = rejection.gamma
get_global_generator = generator.global_generator
normal = random.normal
poisson = rejection.poisson
set_global_generator = generator.set_global_generator
set_seed = random.set_seed
shuffle = random.shuffle
split = random.stateless_split
stateless_categorical = random.stateless_categorical
stateless_gamma = rejection.stateless_gamma
stateless_normal = random.stateless_normal
stateless_poisson = rejection.stateless_poisson
stateless_truncated_normal = random.stateless_truncated_normal
stateless_uniform = random.stateless_uniform
truncated_normal = random.truncated_normal
uniform = random.uniform

__all__ = ["experimental"]
__getattr__ = missing("tf.random")
