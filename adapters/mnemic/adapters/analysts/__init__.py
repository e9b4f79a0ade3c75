"""Readers of new blocks, one per module, all with the two members of the port.

``rules`` is the default: patterns, no model. ``absent`` is how a host says that nobody shall read.
"""

from __future__ import annotations
