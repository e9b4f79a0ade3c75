"""Approximate search with HNSW graphs (Malkov and Yashunin 2018), by hnswlib. Extra ``hnsw``.

The vectors and the exact search always exist. Everything in this package can be missing, damaged or
discarded; the exact search is used then. Only the time differs, and what a decision records as its
retriever.
"""
