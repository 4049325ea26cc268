"""A log that is still being written: the same model, on what has come so far.

`follow` gives the text that a file, a pipe or a recording has more of, `growing` scans it and gives
the run so far. `latest` makes that run again now and then, and `figures` reads its tables; `hints`
says what goes on just now. Nothing here is on a screen.
"""
