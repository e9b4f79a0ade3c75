"""Descent: the blocks that a selection of writes learned, and everything derived from them."""
