"""Batches: many events folded at once, into what they would make one by one."""
