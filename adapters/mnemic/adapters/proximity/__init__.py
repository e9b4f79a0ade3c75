"""Approximate search with HNSW graphs (Malkov and Yashunin 2018), by hnswlib. Extra ``hnsw``.

The vectors and the exact search are always there. Everything here can be missing, damaged or thrown
away, and then the exact search has its turn. It is a matter of time only, and of what a decision
records as its retriever.
"""
