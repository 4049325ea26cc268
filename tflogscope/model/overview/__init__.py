"""What a reader is told: the facts of the screens (`summary`), what the log can't say (`limits`),
the verdict (`headline`), one op or node (`explain`), and two runs (`difference`).
"""
