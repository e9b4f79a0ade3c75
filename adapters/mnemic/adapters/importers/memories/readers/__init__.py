"""Readers of sources, one module per family: from a path to the changes that the source holds."""
