"""Findings: what in a run costs time or leaves something out, ranked by the time at stake."""
