"""Descent: which blocks a selection of writes learned, and everything that descends from them."""
