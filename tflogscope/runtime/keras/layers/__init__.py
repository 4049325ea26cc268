"""Layers: base.py is what all share; core, windows, attention, cells and recurrent hold them."""
