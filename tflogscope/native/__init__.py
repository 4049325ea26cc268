"""The one compiled part: `scanner.c`, and `library`, which loads it and declares what is in it.

It is built when tflogscope is installed (`hatch_build.py`). Python calls it through ctypes, which
lets go of the interpreter lock for the time of a call.
"""
