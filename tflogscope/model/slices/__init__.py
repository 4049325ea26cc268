"""The run as a trace viewer draws it: executions and primitives as bars on tracks.

`slices` places them: one track a thread or, where the log names none, as few `lanes` as will do;
`primitive_slices` go inside their executions, `preparations` are tracing, instantiation and XLA's
compilation, and `own_times` are sums of what no inner bar covers.
"""
