"""``LangGraphStoreContract``: what LangGraph and its agents rely on in a ``BaseStore``."""
# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import pytest

Store = Any
"""A ``BaseStore``."""
MakeStore = Callable[..., Store]
"""Returns a new store, for the fields that a search reads and, if given, a time to live."""

NAMESPACES = (
    ("yard", "north", "gates"),
    ("yard", "north", "cranes", "old"),
    ("yard", "south", "gates"),
    ("office", "gates"),
    ("office", "rota"),
)
CRANES: dict[str, dict[str, Any]] = {
    "a": {"text": "a red crane", "colour": "red", "tons": 4.5},
    "b": {"text": "a red gate", "colour": "red", "tons": 3.0},
    "c": {"text": "a green crane", "colour": "green", "tons": 4.0},
    "d": {"text": "a blue gate", "colour": "blue", "tons": 3.5},
}


def keys(found: Sequence[Any]) -> list[str]:
    """Return the keys of items, in order."""
    return [item.key for item in found]


class LangGraphStoreContract(ABC):
    """The guarantees of a store.

    Implement the fixtures ``make`` and ``ops``.
    """

    @pytest.fixture
    @abstractmethod
    def make(self) -> MakeStore:
        """Return a function that makes an empty store: ``make(fields=None, ttl=None)``."""

    @pytest.fixture
    @abstractmethod
    def ops(self) -> Any:
        """Return the module that defines ``GetOp``, ``PutOp``, ``SearchOp``, …."""

    @pytest.fixture
    def store(self, make: MakeStore) -> Store:
        return make()

    @pytest.fixture
    def cranes(self, make: MakeStore) -> Store:
        """A store with four items to search."""
        store = make(fields=["text"])
        for key, value in CRANES.items():
            store.put(("things",), key, value)
        return store

    # --- items ------------------------------------------------------------------------------

    def test_an_item_is_what_was_put(self, store: Store) -> None:
        value = {"text": "oil", "n": [1, 2.5, None, True, {"deep": "é\n\u0001 /"}], "": {}}
        store.put(("yard", "north"), "oil", value)
        item = store.get(("yard", "north"), "oil")
        assert (item.namespace, item.key, item.value) == (("yard", "north"), "oil", value)
        assert item.created_at.tzinfo is not None
        assert store.get(("yard",), "oil") is None
        assert store.get(("yard", "north"), "tea") is None
        assert store.get(("yard", "north", "oil"), "oil") is None

    def test_any_label_and_key_is_a_name(self, store: Store) -> None:
        for namespace in (("a/b",), ("a", "b"), ("a/", "b"), ("ä%", "日 本"), ("a\nb",)):
            for key in ("k", "k/l", " k ", "%6B", "…"):
                value = {"at": [*namespace, key]}
                store.put(namespace, key, value)
                assert store.get(namespace, key).value == value
        assert len(store.search((), limit=100)) == 25

    def test_a_second_put_replaces_the_value(
        self, store: Store, later: Callable[[float], None]
    ) -> None:
        for n in (1, 2, 1, 1):
            store.put(("a",), "k", {"n": n})
            (item,) = store.search(("a",))
            assert item.value == {"n": n}
        first = store.get(("a",), "k")
        later(1.0)
        store.put(("a",), "k", {"n": 3})
        again = store.get(("a",), "k")
        assert again.created_at == first.created_at
        assert again.updated_at > first.updated_at

    def test_equal_values_of_several_keys_are_several_items(self, store: Store) -> None:
        for key in "abc":
            store.put(("a",), key, {"text": "the same sentence about oil"})
        assert len(store.search(("a",), query="oil")) == 3
        store.delete(("a",), "b")
        assert sorted(keys(store.search(("a",), query="oil"))) == ["a", "c"]

    def test_a_deleted_item_is_gone_and_can_be_put_again(self, store: Store) -> None:
        store.delete(("a",), "k")  # there is none
        store.put(("a",), "k", {"n": 1})
        store.delete(("a",), "k")
        assert store.get(("a",), "k") is None
        assert store.search(("a",)) == []
        assert store.list_namespaces() == []
        store.put(("a",), "k", {"n": 1})
        assert store.get(("a",), "k").value == {"n": 1}

    def test_a_namespace_that_is_not_valid_is_refused(self, store: Store, ops: Any) -> None:
        for namespace in ((), ("a", "b.c"), ("a", ""), ("langgraph", "a")):
            with pytest.raises(ops.InvalidNamespaceError):
                store.put(namespace, "k", {"n": 1})
        store.put(("a", "langgraph"), "k", {"n": 1})
        store.batch([ops.PutOp(("langgraph", "a"), "k", {"n": 2})])
        assert store.get(("langgraph", "a"), "k").value == {"n": 2}

    # --- batches ----------------------------------------------------------------------------

    def test_a_batch_answers_in_order_and_reads_before_it_writes(
        self, store: Store, ops: Any
    ) -> None:
        store.put(("a",), "k", {"n": 1})
        store.put(("b",), "l", {"n": 2})
        results = store.batch(
            [
                ops.PutOp(("a",), "k", {"n": 3}),
                ops.GetOp(("a",), "k"),
                ops.PutOp(("b",), "l", None),
                ops.SearchOp((), filter={"n": 2}),
                ops.ListNamespacesOp(),
                ops.GetOp(("a",), "none"),
            ]
        )
        assert [type(each).__name__ for each in results] == [
            *("NoneType", "Item", "NoneType", "list", "list", "NoneType"),
        ]
        assert results[1].value == {"n": 1}
        assert keys(results[3]) == ["l"]
        assert results[4] == [("a",), ("b",)]
        assert store.get(("a",), "k").value == {"n": 3}
        assert store.get(("b",), "l") is None

    def test_the_last_put_of_a_key_in_a_batch_counts(self, store: Store, ops: Any) -> None:
        store.batch([ops.PutOp(("a",), "k", {"n": n}) for n in range(3)])
        assert store.get(("a",), "k").value == {"n": 2}
        store.batch([ops.PutOp(("a",), "k", {"n": 9}), ops.PutOp(("a",), "k", None)])
        assert store.get(("a",), "k") is None

    def test_a_batch_is_written_as_a_whole_or_not_at_all(self, store: Store, ops: Any) -> None:
        store.put(("a",), "old", {"n": 1})
        with pytest.raises((TypeError, ValueError)):
            store.batch(
                [
                    ops.PutOp(("a",), "old", None),
                    ops.PutOp(("a",), "new", {"n": 1}),
                    ops.PutOp(("a",), "bad", {"n": object()}),
                ]
            )
        assert keys(store.search(("a",))) == ["old"]

    @pytest.mark.parametrize("namespace", [("a.b",), ("a", ""), ("a", 1)])
    def test_a_batch_with_a_label_that_is_not_valid_is_refused_as_a_whole(
        self, store: Store, ops: Any, namespace: tuple[Any, ...]
    ) -> None:
        for op in (
            ops.GetOp(namespace, "k"),
            ops.PutOp(namespace, "k", {"n": 1}),
            ops.PutOp(namespace, "k", None),
            ops.SearchOp(namespace),
            ops.ListNamespacesOp((ops.MatchCondition("prefix", namespace),)),
        ):
            with pytest.raises(ops.InvalidNamespaceError):
                store.batch([ops.PutOp(("a",), "k", {"n": 1}), op])
        assert store.search(()) == []

    # --- search without a question ----------------------------------------------------------

    def test_a_search_reads_a_namespace_and_those_below(self, store: Store) -> None:
        for namespace in (("a",), ("a", "b"), ("ab",), ("c", "a"), ("a_1",), ("aX1",)):
            store.put(namespace, "k", {"n": 1})
        found = {item.namespace for item in store.search(("a",))}
        assert found == {("a",), ("a", "b")}
        assert [item.namespace for item in store.search(("a_1",))] == [("a_1",)]
        assert len(store.search(())) == 6

    def test_a_search_is_paged(self, store: Store) -> None:
        for n in range(5):
            store.put(("a",), f"k{n}", {"n": n})
        pages = [keys(store.search(("a",), limit=2, offset=at)) for at in (0, 2, 4, 6)]
        assert pages == [["k0", "k1"], ["k2", "k3"], ["k4"], []]

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ({"colour": "red"}, "ab"),
            ({"colour": {"$eq": "red"}}, "ab"),
            ({"colour": {"$ne": "red"}}, "cd"),
            ({"tons": {"$gt": 4.0}}, "a"),
            ({"tons": {"$gte": 4.0}}, "ac"),
            ({"tons": {"$lt": 3.5}}, "b"),
            ({"tons": {"$lte": 3.5, "$gt": 3.0}}, "d"),
            ({"tons": {"$gte": 4.0}, "colour": "green"}, "c"),
            ({"none": 1}, ""),
        ],
    )
    def test_a_filter_compares_values(
        self, cranes: Store, wanted: dict[str, Any], found: str
    ) -> None:
        assert keys(cranes.search(("things",), filter=wanted)) == [*found]
        assert sorted(keys(cranes.search((), query="crane", filter=wanted))) == [*found]

    def test_a_filter_reads_objects_and_lists(self, store: Store) -> None:
        store.put(("a",), "k", {"tags": ["x", "y"], "in": {"n": 1, "m": 2}})
        for wanted, count in (
            ({"tags": ["x", "y"]}, 1),
            ({"tags": ["x"]}, 0),
            ({"in": {"n": 1}}, 1),
            ({"in": {"n": {"$gt": 1}}}, 0),
            ({"in.n": 1, "in.m": {"$gt": 1}}, 1),
            ({"in.n": 2}, 0),
            ({"in.n.o": 1}, 0),
            ({"tags.x": 1}, 0),
        ):
            assert len(store.search(("a",), filter=wanted)) == count
        with pytest.raises(ValueError, match="near"):
            store.search(("a",), filter={"in": {"$near": 1}})

    # --- search with a question -------------------------------------------------------------

    def test_a_question_ranks_items(self, cranes: Store) -> None:
        found = cranes.search(("things",), query="green crane")
        assert found[0].key == "c"
        assert len(found) == 4
        scores = [item.score for item in found]
        assert scores == sorted(scores, reverse=True)
        pages = [cranes.search((), query="green crane", limit=2, offset=at) for at in (0, 2)]
        assert [*keys(pages[0]), *keys(pages[1])] == keys(found)

    def test_an_update_changes_what_an_item_is_found_by(self, cranes: Store) -> None:
        before = cranes.search(("things",), query="green crane")[0]
        cranes.put(("things",), "c", {"text": "a note on tea"})
        after = {item.key: item for item in cranes.search(("things",), query="green crane")}
        assert after["c"].score < before.score
        assert cranes.search(("things",), query="tea")[0].key == "c"

    def test_an_item_that_is_not_indexed_has_no_score(self, cranes: Store) -> None:
        cranes.put(("things",), "e", {"text": "a green crane"}, index=False)
        assert "e" not in keys(cranes.search(("things",), query="green crane", limit=4))
        found = cranes.search(("things",), query="green crane", limit=5)
        assert (found[-1].key, found[-1].score) == ("e", None)
        assert cranes.get(("things",), "e").value == {"text": "a green crane"}

    def test_the_indexed_fields_are_searched(self, make: MakeStore) -> None:
        store = make(fields=["title", "parts[*].name"])
        store.put(("a",), "k", {"title": "crane", "parts": [{"name": "hook"}], "note": "tea"})
        store.put(("a",), "l", {"title": "gate", "parts": [{"name": "hinge"}], "note": "hook"})
        store.put(("a",), "m", {"title": "hut", "note": "stove"}, index=["note"])
        assert store.search(("a",), query="hook")[0].key == "k"
        assert store.search(("a",), query="stove")[0].key == "m"

    def test_a_blank_question_is_none(self, cranes: Store) -> None:
        for query in ("", "  ", None):
            assert len(cranes.search(("things",), query=query)) == 4
        for query in ("crane " * 100, "crane!@#$%^&*()"):
            assert len(cranes.search(("things",), query=query)) == 4

    def test_texts_of_any_script_are_found(self, make: MakeStore) -> None:
        store, texts = make(fields=["text"]), ("这是中文", "これは日本語です", "Это русский")
        for key, text in enumerate(texts):
            store.put(("a",), str(key), {"text": text})
        for key, text in enumerate(texts):
            assert store.search(("a",), query=text)[0].key == str(key)

    # --- namespaces -------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ({}, [0, 1, 2, 3, 4]),
            ({"prefix": ("yard", "north")}, [0, 1]),
            ({"suffix": ("gates",)}, [0, 2, 3]),
            ({"prefix": ("yard",), "suffix": ("gates",)}, [0, 2]),
            ({"prefix": ("*", "north")}, [0, 1]),
            ({"prefix": ("yard", "*", "gates")}, [0, 2]),
            ({"suffix": ("*", "gates")}, [0, 2, 3]),
            ({"prefix": ("nowhere",)}, []),
            ({"prefix": ("office", "rota", "more")}, []),
        ],
    )
    def test_namespaces_are_listed(
        self, store: Store, asked: dict[str, Any], found: list[int]
    ) -> None:
        for namespace in NAMESPACES:
            store.put(namespace, "k", {"n": 1})
        expected = sorted(NAMESPACES[each] for each in found)
        assert store.list_namespaces(**asked) == expected
        assert store.list_namespaces(**asked, limit=1, offset=1) == expected[1:2]

    def test_namespaces_are_cut_at_a_depth(self, store: Store) -> None:
        for namespace in NAMESPACES:
            store.put(namespace, "k", {"n": 1})
        short = [("office", "gates"), ("office", "rota"), ("yard", "north"), ("yard", "south")]
        assert store.list_namespaces(max_depth=2) == short
        assert store.list_namespaces(max_depth=1) == [("office",), ("yard",)]

    # --- time to live -----------------------------------------------------------------------

    def test_an_item_lives_as_long_as_it_is_said_to(
        self, make: MakeStore, later: Callable[[float], None]
    ) -> None:
        store = make(ttl={"default_ttl": 10.0, "refresh_on_read": True})
        store.put(("a",), "short", {"n": 1}, ttl=5.0)
        store.put(("a",), "long", {"n": 2})
        store.put(("b",), "ever", {"n": 3}, ttl=None)
        later(6.0)
        assert store.get(("a",), "short") is None
        assert keys(store.search(())) == ["long", "ever"]  # which begins its ten minutes anew
        later(6.0)
        assert store.get(("a",), "long", refresh_ttl=False).value == {"n": 2}
        later(6.0)
        assert store.get(("a",), "long") is None
        assert store.list_namespaces() == [("b",)]
        assert store.sweep_ttl() == 2
        assert store.sweep_ttl() == 0
        assert store.get(("b",), "ever").value == {"n": 3}

    @pytest.fixture
    @abstractmethod
    def later(self) -> Callable[[float], None]:
        """Return a function that moves the clock of all stores forward by some minutes."""
