"""Models that turn texts into vectors, one per module, all with the two members of the port.

``bundled`` is the default and needs no download. ``hashing`` holds the two that tests use.
"""

from __future__ import annotations
