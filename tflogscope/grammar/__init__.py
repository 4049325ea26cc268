"""What TensorFlow and oneDNN write, as data (`grammars/`), and two engines made from it.

`load` reads the grammar files, `fast` matches whole columns of messages with polars, `exact`
parses one message with pyparsing and says where and why it departs from the grammar.
"""
