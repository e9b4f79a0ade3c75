"""Transcripts of conversations: what was said becomes blocks of category ``message``.

``messages`` reads JSON, with roles or names; ``chatlogs`` reads lines of text such as messengers
export; ``dates`` finds out how their dates are written.
"""

from __future__ import annotations
