"""How busy a run was over time (`activity`), and which moments a user names (`moments`)."""
