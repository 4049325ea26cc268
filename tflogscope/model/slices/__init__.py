"""The run as a trace viewer draws it: executions and primitives as bars on tracks.

`table` places them: one track a thread or, where the log names none, as few `lanes` as will do;
`primitive_slices` go inside their executions. `alike` numbers bars that say the same.
"""
