"""``InterfaceContract``: the same tests of a memory's operations for every interface."""

from __future__ import annotations
