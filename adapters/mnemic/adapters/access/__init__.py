"""Access control for remote interfaces: bearer tokens, each with its scopes.

``scopes`` defines what may be done in which space, ``tokens`` the tokens, ``register`` the file
that stores them, and ``keyring`` the operations that interfaces and the command line use.

Nothing here is part of a memory: spaces do not know tokens, and the log holds only their names, as
actors.
"""

from __future__ import annotations

from mnemic.adapters.access.keyring import Keyring
from mnemic.adapters.access.register import beside
from mnemic.adapters.access.scopes import EVERY_SPACE, Scope
from mnemic.adapters.access.tokens import Token, TokenId

__all__ = ["EVERY_SPACE", "Keyring", "Scope", "Token", "TokenId", "beside"]
