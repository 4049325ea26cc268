"""What ran: eager dispatches (`dispatches`), runs of nodes (`node_runs`), and both as one sequence
(`executions`), with what was instantiated for them and what failed.
"""
