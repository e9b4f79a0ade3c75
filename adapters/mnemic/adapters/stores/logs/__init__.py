"""Building blocks of a log: the hash chain, appends, write locks and staged spaces."""

from __future__ import annotations
