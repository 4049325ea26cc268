"""A log that is still being written: the same model, on what has come so far.

`follow` gives the text that a file, a pipe or a recording has more of, `growing` scans it and gives
the run so far, again and again. Nothing here is on a screen.
"""
