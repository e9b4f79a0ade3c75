"""Approximate search with HNSW graphs (Malkov and Yashunin 2018), by hnswlib. Extra ``hnsw``.

The vectors and the exact search are always there. Everything here can be missing, damaged or thrown
away; the exact search is used then. Only the time differs, and what a decision records as its
retriever.
"""
