"""Rows of executions (`timeline`) and of nodes (`node_tables`), which eager ops were unexpected
(`unexpected`), and what a thread asked for, one span after the other (`spans`).
"""
