"""The log: what TensorFlow would have written while the program ran, and the truth beside it. The
emitter only listens (`core/telling.py`); the program runs the same without it. The modules are in
`docs/simulated-logs.md`.
"""
