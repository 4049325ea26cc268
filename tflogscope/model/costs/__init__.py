"""What it cost: each execution without the log (`costs`), first calls in parts (`first_calls`), and
which line of the program asked for it (`python_lines`).
"""
