"""Who may come in through a door that strangers can reach: bearer tokens, each with its scopes.

``scopes`` say what may be done in which space, ``tokens`` who may, ``register`` the
file that keeps them, ``keyring`` what a door asks and the command line changes.

Nothing here is part of a memory: no space knows of tokens, and the log only their names, as actors.
"""

from __future__ import annotations

from mnemic.adapters.access.keyring import Keyring
from mnemic.adapters.access.register import beside
from mnemic.adapters.access.scopes import EVERY_SPACE, Scope
from mnemic.adapters.access.tokens import Token, TokenId

__all__ = ["EVERY_SPACE", "Keyring", "Scope", "Token", "TokenId", "beside"]
