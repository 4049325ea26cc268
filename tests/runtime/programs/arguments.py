"""What a program is given, and how it may end."""

import os
import sys

import beside
import tensorflow as tf

print(sys.argv[1:], __name__, os.path.basename(__file__), beside.NAME)
print(tf.add(1, int(sys.argv[1])).numpy())
if len(sys.argv) > 2:
    sys.exit(int(sys.argv[2]) if sys.argv[2].isdigit() else sys.argv[2])
