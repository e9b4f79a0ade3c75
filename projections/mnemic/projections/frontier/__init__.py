"""The frontier: combinations of blocks that were never composed and look worthwhile."""
