"""Four workers of MultiWorkerMirroredStrategy; worker 2 sleeps before each step but the first. Run as `four.py INDEX`."""
import json, os, sys, time

index = int(sys.argv[1])
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": [f"localhost:{24511 + i}" for i in range(4)]}, "task": {"type": "worker", "index": index}})
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    v = tf.Variable(tf.ones([4, 4]))
traces = 0


@tf.function
def step(x):
    global traces
    traces += 1

    def replica(x):
        y = tf.matmul(x, v)
        total = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, y)
        v.assign_add(1e-3 * total)
        return tf.reduce_sum(total)

    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, args=(x,)), axis=None)


x = tf.ones([4, 4])
slept = 0.0
for i in range(6):
    if index == 2 and i:
        time.sleep(0.15)
        slept += 0.15
    loss = step(x)
float(loss)
eager = 3 + index
for _ in range(eager):
    tf.abs(x)
print("TRUTH", json.dumps({"task": index, "calls": 6, "traces": traces, "abs": eager, "slept_s": round(slept, 2)}), flush=True)
