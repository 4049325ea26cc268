"""Two epochs of a tf.data service of three processes, 9 and 5 elements; 2 eager Neg after each."""
import json, sys
import tensorflow as tf
target = f"grpc://localhost:{sys.argv[1]}"

@tf.function
def step(x):
    return tf.reduce_mean(tf.square(x))

n = []
for count in 9, 5:
    ds = tf.data.Dataset.range(count).map(lambda i: tf.random.stateless_uniform([4, 4], [i, 3]))
    ds = ds.apply(tf.data.experimental.service.distribute("distributed_epoch", target))
    seen = 0
    for x in ds:
        step(x)
        seen += 1
    for _ in range(2):
        tf.negative(x)
    n.append(seen)
print("TRUTH", json.dumps({"elements": n, "step": sum(n), "neg": 4}), flush=True)
