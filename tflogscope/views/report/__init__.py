"""The report: one HTML page that holds all it needs, made to be mailed and opened anywhere."""
