"""Extension lock: held by the one thread that extends an index which is built on demand.

Texts are analysed when a query first needs it, so that writing does not wait for that. The readers
that need the same texts at the same moment share the work: one does it, and the others wait for
its result instead of computing it again. The writer of the state never holds a reader up, nor does
a reader take this lock if the index is far enough.
"""

from __future__ import annotations

from threading import Lock

__all__ = ["Lock"]
