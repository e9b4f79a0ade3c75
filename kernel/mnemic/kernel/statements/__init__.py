"""Comparison of texts as statements, by rules over their words, without models or similarity.

``characters``     one spelling for each character, and what a line break means
``spelling``       one spelling for each word, quantity, date and time
``statement``      a text as sentences of tokens
``same``           the same statement, or more of it: what may supersede
``contradiction``  how two texts relate
``vocabulary``     the word lists

A host that compares a text more than once parses it with ``Statement.of`` and passes the result.
Candidates need no search: texts that are the `same` have one ``statement_key``, and a text that
extends another has all of its ``sentence_keys``; look up, then ask `same` or `extends`.
"""

from __future__ import annotations

from mnemic.kernel.statements.contradiction import Wording, contradicts, relation
from mnemic.kernel.statements.same import extends, same, sentence_keys, statement_key, tokens
from mnemic.kernel.statements.statement import Statement, Token

__all__ = [
    "Statement",
    "Token",
    "Wording",
    "contradicts",
    "extends",
    "relation",
    "same",
    "sentence_keys",
    "statement_key",
    "tokens",
]
