"""Copies, exports and receipts of logs: how a log leaves its store and is brought back.

``copies`` is the pipeline of all copies: sources of records, one verified pass over them, and logs
as targets. ``exports`` defines the form of an export, writes it, and reads it with every check.
``receipts`` makes receipts and compares them. Everything here works on logs and files; the
operations on an open memory are in ``inprocess.operations.transfer``.

Operations on a store as a whole are not part of a memory: ``migration.migrate`` into another store,
``backup.backup``, ``backup.check`` and ``backup.restore``, ``salvage.salvage`` of a damaged one.
``catch_up`` is shared by these, ``results`` holds what they return, and ``destination`` keeps a
target hidden until it is complete.
"""

from __future__ import annotations
