"""Hypothesis strategies for all input of a memory, biased towards difficult cases.

They generate plain data; the test executes it against a memory.
"""
