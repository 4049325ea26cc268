"""Which execution each oneDNN line belongs to; docs/linking.md says how it is found out.

`linker` is the whole: `candidates` are executions that were open (`kernels`: what they can run),
`problems` and `tensors` have the sizes on both sides, `signs` say what speaks for a pair, and
`assignment` places all lines; `late` those that a buffer kept back. `linked` is what the rest of
the model asks for.
"""
