"""Shared parts of remote interfaces: the table of operations, JSON documents, and schemas.

An interface translates and holds no logic. The translation is defined here once: which operations
there are and who may call them (``operations``), what they take and return (``schemas``, with the
texts of ``descriptions``), how a document becomes a call and a result a document (``documents``),
how errors are transmitted (``errors``), and how a point of the past is written (``time_points``).
"""
