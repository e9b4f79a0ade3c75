"""Analysts of new blocks, one per module, all with the two members of the port.

``rules`` is the default: patterns, no model. ``absent`` switches analysis off.
"""

from __future__ import annotations
