"""A loop that puts each batch of results behind those before it: `grows`; `reads` takes their mean in each turn, too.

`fixed` puts it behind zeros, `once` puts all of them together after the loop. What is true: the clock's time of each.
"""

import sys
import time

import tensorflow as tf

ROWS, WIDE, TURNS = 64, 512, 128
how = sys.argv[1]
w = tf.Variable(tf.random.stateless_normal((8, WIDE), (1, 2)))


@tf.function
def predict(x):
    return tf.nn.relu(x @ w)


batches = [tf.random.stateless_normal((ROWS, 8), (n, 2)) for n in range(TURNS)]
zeros, parts, results = tf.zeros([ROWS, WIDE]), [], predict(batches[0])
start = time.perf_counter()
for batch in batches:
    out = predict(batch)
    parts.append(out)
    if how != "once":
        results = tf.concat([zeros if how == "fixed" else results, out], 0)
    if how == "reads":
        tf.reduce_mean(results)
if how == "once":
    results = tf.concat(parts, 0)
print(f"{how}: {1e3 * (time.perf_counter() - start):.1f} ms")
