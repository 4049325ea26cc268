"""A log that is still being written: read as it comes, and its figures so far.

`follow` gives the text that a file, a pipe or a recording has more of, `growing` scans it, and
`figures` adds up what is new: `nodes`, `calls` and `primitives`, with the `sums` of ops, from the
`news` of the store; `spans` has what has begun and not ended. `asked` runs the model on all of it,
now and then. Nothing here is on a screen.
"""
