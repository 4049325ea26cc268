"""Which execution each oneDNN line belongs to; docs/linking.md says how it is found out.

`linker` is the whole. `sole` settles most lines: one execution alone was open. For the others
`candidates` are executions that were open (`kernels`: what they can run), `problems` and `tensors`
the sizes on both sides, `pairs` what could belong together and how well (`signs`, `reorders`), and
`assignment` places all lines; `late` those that a buffer kept back.
`linked` is what the rest of the model asks for.
"""
