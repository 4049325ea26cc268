"""How fast the reference runtime is: eager execution against graphs, and the cost of a call.

usage: python runtime.py

`power(x, 100)` is the program of the guide (`seeds/001…`), whose own figures are 4.10 s and 0.80 s
for 1000 calls: 5.2 times as fast as a graph.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from tflogscope.runtime.names import bind

tf = bind()
REPEATS = 7


def seconds(call: Callable[[], Any], number: int) -> float:
    """Seconds per call: the median of some repeats."""
    call()
    took = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(number):
            call()
        took.append((time.perf_counter() - start) / number)
    return statistics.median(took)


def power(x: Any, y: int) -> Any:
    """`x` to the power of `y`, one product after the other."""
    result = tf.eye(10, dtype=tf.dtypes.int32)
    for _ in range(y):
        result = tf.matmul(x, result)
    return result


def twenty_nodes(x: Any) -> Any:
    """Ten additions and ten tanh."""
    result = x
    for _ in range(10):
        result = tf.tanh(result + x)
    return result


def main() -> None:
    """Print the figures."""
    x = tf.random.uniform(shape=[10, 10], minval=-1, maxval=2, dtype=tf.dtypes.int32)
    staged = tf.function(power)
    eager, graph = seconds(lambda: power(x, 100), 5), seconds(lambda: staged(x, 100), 5)
    print(
        f"power(x, 100)       eager {eager * 1e3:7.3f} ms   graph {graph * 1e3:7.3f} ms   "
        f"{eager / graph:.1f} times as fast"
    )
    one = tf.constant(0.5)
    staged = tf.function(twenty_nodes)
    eager, graph = seconds(lambda: twenty_nodes(one), 50), seconds(lambda: staged(one), 50)
    print(
        f"20 small ops        eager {eager * 1e3:7.3f} ms   graph {graph * 1e3:7.3f} ms   "
        f"{eager / graph:.1f} times as fast"
    )
    empty = tf.function(lambda x: x)
    print(f"an empty function   {seconds(lambda: empty(one), 200) * 1e6:7.1f} µs a call")


if __name__ == "__main__":
    main()
