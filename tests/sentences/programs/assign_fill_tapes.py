"""assign_add and assign_sub on variables, a Fill before a tape, a tape inside a function beside eager tapes."""
import truth
import tensorflow as tf

counter = tf.Variable(0.0)
v = tf.Variable(tf.ones((4,)))
truth.asked("Fill")


@tf.function
def with_tape(x):
    truth.traced("with_tape")
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    return tape.gradient(y, x)


for i in range(3):
    with truth.phase("updates"):
        counter.assign_add(1.0)
        counter.assign_sub(0.5)
        truth.asked("AssignAddVariableOp"), truth.asked("AssignSubVariableOp")
    with truth.phase("fill"):
        target = tf.fill((4,), 2.0)
        truth.asked("Fill")
    with truth.call("with_tape"):
        with_tape(target)
with truth.phase("fill before an eager tape"):
    target = tf.fill((4,), 3.0)
    truth.asked("Fill")
with truth.phase("eager tape"):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * target)
    grad = tape.gradient(loss, v)
print(float(counter), grad.numpy())
truth.known("Fill was asked for 5 times by the program itself (tf.ones, tf.fill), none of them by a tape", fills=5)
truth.known("only the last phase has an eager tape; the tape of with_tape works while it is traced, once")
