"""The rows of the tables: `timeline`, `op_tables`, `node_tables`; and what a thread asked for, one
span after the other (`spans`).
"""
