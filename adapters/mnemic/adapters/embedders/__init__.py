"""Embedders: models that convert texts to vectors, one per module.

``bundled`` is the default and needs no download. ``hashing`` holds the two that tests use.
"""

from __future__ import annotations
