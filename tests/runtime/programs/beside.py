"""Imported by arguments.py from the folder that it is in."""

NAME = "beside"
