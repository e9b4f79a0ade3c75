"""Statements: lookup by hash of the documents that may make the same statement as a text.

Rules of this module:

1. A document is a text, by its number in the lexicon. Its two keys never change: that of the whole
   text and that of its first sentence.
2. A text may restate a document that has its key, or whose first sentence is one of its own.
   Whether it does is decided on the texts, by ``mnemic.kernel.statements``.
3. Nothing is computed before the first query. Opening a log in order to write costs nothing here.
   The first query that needs new documents processes them, one thread at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.extension_lock import Lock
from mnemic.projections.storage.growable_array import GrowableArray
from mnemic.projections.storage.payloads import Payloads

if TYPE_CHECKING:
    from mnemic.kernel.statements import Statement

PARSED_MAX: Final = 4096
"""Documents that stay parsed: a promotion compares a text several times."""
UNSORTED_MAX: Final = 4096
"""Documents that are compared one by one before all are sorted again."""
NO_KEY: Final = 0
"""Key of an erased text, and of one without words."""


class Statements:
    """The keys of every document.

    Args:
        texts: Where each text is stored, by document number.
    """

    def __init__(self, texts: Payloads[BlockText]) -> None:
        self._texts = texts
        self._whole = GrowableArray(np.int64)
        self._first = GrowableArray(np.int64)
        self._sorted: tuple[_Sorted, _Sorted] = (_Sorted.of(), _Sorted.of())
        self._extending = Lock()
        self._parsed: dict[int, Statement] = {}

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays, after processing new documents."""
        self.settle()
        return {"whole": self._whole.values.copy(), "first": self._first.values.copy()}

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]], texts: Payloads[BlockText]) -> Statements:
        """Return the statements that were frozen.

        Args:
            parts: From ``frozen``.
            texts: As for new ones.
        """
        statements = cls(texts)
        statements._whole = GrowableArray.thawed(parts["whole"])
        statements._first = GrowableArray.thawed(parts["first"])
        return statements

    def erased(self, documents: Sequence[int], texts: Payloads[BlockText]) -> Statements:
        """Return the statements without those of some documents.

        Args:
            documents: Their numbers.
            texts: The remaining texts.
        """
        parts = {"whole": self._whole.values.copy(), "first": self._first.values.copy()}
        for keys in parts.values():
            keys[[each for each in documents if each < len(keys)]] = NO_KEY
        return Statements.thawed(parts, texts)

    def settle(self) -> None:
        """Process the documents added since. Every query does so first."""
        if len(self._first) == len(self._texts):
            return
        with self._extending:
            new = self._texts.since(len(self._first))
            for document, text in enumerate(new, start=len(self._first)):
                said = self._parsed.get(document) or self._parse(document, text)
                self._whole.append(said.key)
                self._first.append(said.sentence_keys[0] if said.spelled else NO_KEY)

    def of(self, document: int) -> Statement:
        """Return the text of a document as it is compared; one without words if it is erased."""
        found = self._parsed.get(document)
        return self._parse(document, self._texts[document]) if found is None else found

    def _parse(self, document: int, text: object) -> Statement:
        # Late, since opening a memory compares no texts.
        from mnemic.kernel.statements import Statement  # noqa: PLC0415

        if len(self._parsed) >= PARSED_MAX:
            self._parsed.clear()
        said = Statement.of(text.content if isinstance(text, BlockText) else "")
        self._parsed[document] = said
        return said

    def restated(self, said: Sequence[Statement]) -> list[list[int]]:
        """Return, for each statement, the documents that it may restate, ascending."""
        if not any(each.spelled for each in said):
            return [[] for _ in said]
        self.settle()
        whole, first = self._sorted
        whole, first = whole.grown(self._whole.values), first.grown(self._first.values)
        self._sorted = whole, first
        return [sorted({*whole.find([each.key]), *first.find(each.sentence_keys)}) for each in said]


class _Sorted:
    """Documents by key: most of them sorted, the latest not yet.

    Args:
        keys: Keys by document.
        order: Documents that are sorted, by rising key.
        in_order: The keys of these.
    """

    def __init__(self, keys: Integers, order: Integers, in_order: Integers) -> None:
        self._keys = keys
        self._order = order
        self._in_order = in_order

    @classmethod
    def of(cls) -> _Sorted:
        """Return one without documents."""
        nothing: Integers = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing)

    def grown(self, keys: Integers) -> _Sorted:
        """Return one with all of *keys*, sorted again if many are new."""
        if len(keys) - len(self._order) > max(UNSORTED_MAX, len(self._order) // 4):
            order = keys.argsort(kind="stable")
            return _Sorted(keys, order, keys[order])
        return _Sorted(keys, self._order, self._in_order)

    def find(self, wanted: Sequence[int]) -> list[int]:
        """Return the documents with one of the *wanted* keys."""
        real = np.array([key for key in wanted if key != NO_KEY], dtype=np.int64)
        if not len(real):
            return []
        found: list[int] = []
        starts = np.searchsorted(self._in_order, real, side="left").tolist()
        ends = np.searchsorted(self._in_order, real, side="right").tolist()
        for start, end in zip(starts, ends, strict=True):
            found += self._order[start:end].tolist()
        late = self._keys[len(self._order) :]
        if len(late):
            # A statement has few keys; isin would sort the documents for them.
            is_wanted = np.logical_or.reduce([late == key for key in real.tolist()])
            found += (is_wanted.nonzero()[0] + len(self._order)).tolist()
        return found
