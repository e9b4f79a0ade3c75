"""The ``deep_reference`` query: evidence on a question, weighed instead of only ranked.

intent → evidence by our own recall ranking → trust → supersession → contradiction → an answer that
says which memories to rely on, which to distrust, and how confident it is. Everything here is a
function of a view and of texts: no model, no clock, the same answer live and as of any past point.
"""

from __future__ import annotations

from typing import Final

DEPTH: Final = 20
"""Memories that the question itself may find, if not given."""
