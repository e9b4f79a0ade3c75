"""Hypothesis strategies for everything that can reach a memory, with a bias to the nasty.

What comes out is plain data. Playing it against a memory is left to whoever asked.
"""
