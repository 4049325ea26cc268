"""Findings: what in a run costs time or tells less than it could, ranked by the time at stake."""
