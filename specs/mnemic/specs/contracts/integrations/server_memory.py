"""``ServerMemoryContract``: what agents rely on in the nine tools of ``server-memory``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]
"""Calls a tool with its one argument, and returns ``structuredContent``."""

TOOLS = {
    "create_entities": "entities",
    "create_relations": "relations",
    "add_observations": "observations",
    "delete_entities": "entityNames",
    "delete_observations": "deletions",
    "delete_relations": "relations",
    "read_graph": None,
    "search_nodes": "query",
    "open_nodes": "names",
}
"""Names of the tools, in order, and of their one argument."""


def entity(name: str, kind: str, *observations: str) -> dict[str, Any]:
    """Return an entity as the tools take it."""
    return {"name": name, "entityType": kind, "observations": [*observations]}


def relation(source: str, kind: str, target: str) -> dict[str, str]:
    """Return a relation as the tools take it."""
    return {"from": source, "to": target, "relationType": kind}


INES = entity("Ines", "person", "lives in Oslo", "mends Gates")
TOMASZ = entity("Tomasz", "person", "works at the yard")
YARD = entity("North Yard", "place", "has two gates")
OWNS, VISITS = relation("Ines", "owns", "North Yard"), relation("Tomasz", "visits", "North Yard")
EMPTY: dict[str, list[Any]] = {"entities": [], "relations": []}


class ServerMemoryContract(ABC):
    """The guarantees of the server.

    Implement the fixtures ``call`` and ``reopened``, and ``error``.
    """

    error: type[Exception]
    """What ``call`` raises if the answer is an error, with its text."""

    @pytest.fixture
    @abstractmethod
    def call(self) -> Call:
        """Return ``call(tool, argument=None)`` for an empty graph."""

    @pytest.fixture
    @abstractmethod
    def reopened(self, call: Call) -> Callable[[], Call]:
        """Return a function that returns ``call`` for another server of the same graph."""

    @pytest.fixture
    def graph(self, call: Call) -> Call:
        """A graph of three entities and two relations."""
        call("create_entities", [INES, TOMASZ, YARD])
        call("create_relations", [OWNS, VISITS])
        return call

    # --- entities ---------------------------------------------------------------------------

    def test_new_entities_are_returned(self, call: Call) -> None:
        assert call("read_graph") == EMPTY
        assert call("create_entities", []) == {"entities": []}
        assert call("create_entities", [INES, TOMASZ]) == {"entities": [INES, TOMASZ]}
        assert call("read_graph") == {"entities": [INES, TOMASZ], "relations": []}

    def test_an_entity_whose_name_is_taken_stays(self, call: Call) -> None:
        call("create_entities", [INES])
        other = entity("Ines", "ship")
        assert call("create_entities", [other, TOMASZ, TOMASZ]) == {"entities": [TOMASZ]}
        assert call("read_graph")["entities"] == [INES, TOMASZ]

    def test_an_entity_is_deleted_with_its_relations(self, graph: Call) -> None:
        done = {"success": True, "message": "Entities deleted successfully"}
        assert graph("delete_entities", ["North Yard", "nobody"]) == done
        assert graph("read_graph") == {"entities": [INES, TOMASZ], "relations": []}
        assert graph("delete_entities", ["North Yard"]) == done
        assert graph("create_entities", [YARD]) == {"entities": [YARD]}

    def test_any_text_is_a_name(self, call: Call) -> None:
        names = ("a/b", "a", "b ", "ä%2F", "日本", "two\nlines", "a" * 200)
        every = [entity(name, "thing", name) for name in names]
        assert call("create_entities", every) == {"entities": every}
        relations = [relation(one, "precedes/…", names[0]) for one in names]
        call("create_relations", relations)
        assert call("read_graph") == {"entities": every, "relations": relations}

    # --- relations --------------------------------------------------------------------------

    def test_new_relations_are_returned(self, graph: Call) -> None:
        assert graph("create_relations", []) == {"relations": []}
        knows = relation("Ines", "knows", "Ines")
        assert graph("create_relations", [OWNS, knows, knows]) == {"relations": [knows]}
        assert graph("read_graph")["relations"] == [OWNS, VISITS, knows]

    def test_one_of_several_relations_is_deleted(self, graph: Call) -> None:
        graph("create_relations", [relation("Ines", "visits", "North Yard")])
        none = relation("Ines", "sells", "North Yard")
        done = {"success": True, "message": "Relations deleted successfully"}
        assert graph("delete_relations", [OWNS, none]) == done
        assert graph("read_graph")["relations"] == [
            VISITS,
            relation("Ines", "visits", "North Yard"),
        ]

    # --- observations -----------------------------------------------------------------------

    def test_new_observations_are_returned(self, graph: Call) -> None:
        added = graph(
            "add_observations",
            [
                {"entityName": "Ines", "contents": ["likes tea", "lives in Oslo", "likes tea"]},
                {"entityName": "Ines", "contents": ["likes tea", "has a dog"]},
                {"entityName": "Tomasz", "contents": []},
            ],
        )
        assert added["results"] == [
            {"entityName": "Ines", "addedObservations": ["likes tea"]},
            {"entityName": "Ines", "addedObservations": ["has a dog"]},
            {"entityName": "Tomasz", "addedObservations": []},
        ]
        ines, tomasz, _ = graph("read_graph")["entities"]
        assert ines["observations"] == [*INES["observations"], "likes tea", "has a dog"]
        assert tomasz == TOMASZ

    def test_observations_of_no_entity_are_refused_with_all_others(self, graph: Call) -> None:
        with pytest.raises(self.error, match="Entity with name Nobody not found"):
            graph(
                "add_observations",
                [
                    {"entityName": "Ines", "contents": ["likes tea"]},
                    {"entityName": "Nobody", "contents": ["likes tea"]},
                ],
            )
        assert graph("read_graph")["entities"] == [INES, TOMASZ, YARD]

    def test_observations_are_deleted(self, graph: Call) -> None:
        done = {"success": True, "message": "Observations deleted successfully"}
        deletions = [
            {"entityName": "Ines", "observations": ["lives in Oslo", "never said"]},
            {"entityName": "Nobody", "observations": ["lives in Oslo"]},
        ]
        assert graph("delete_observations", deletions) == done
        assert graph("read_graph")["entities"][0] == entity("Ines", "person", "mends Gates")
        assert graph("delete_observations", deletions) == done

    # --- reading ----------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("query", "entities", "relations"),
        [
            ("Ines", [INES], [OWNS]),
            ("INES", [INES], [OWNS]),
            ("person", [INES, TOMASZ], [OWNS, VISITS]),
            ("gates", [INES, YARD], [OWNS, VISITS]),
            ("yard", [TOMASZ, YARD], [OWNS, VISITS]),
            ("nothing of that kind", [], []),
        ],
    )
    def test_a_search_finds_names_types_and_observations(
        self, graph: Call, query: str, entities: list[Any], relations: list[Any]
    ) -> None:
        found = graph("search_nodes", query)
        assert found == {"entities": entities, "relations": relations}

    @pytest.mark.parametrize(
        ("names", "entities", "relations"),
        [
            (["Ines"], [INES], [OWNS]),
            (["North Yard"], [YARD], [OWNS, VISITS]),
            (["Tomasz", "Ines"], [INES, TOMASZ], [OWNS, VISITS]),
            (["ines", "Nobody"], [], []),
            ([], [], []),
        ],
    )
    def test_nodes_are_opened_by_name(
        self, graph: Call, names: list[str], entities: list[Any], relations: list[Any]
    ) -> None:
        assert graph("open_nodes", names) == {"entities": entities, "relations": relations}

    def test_another_server_of_the_graph_finds_it(
        self, graph: Call, reopened: Callable[[], Call]
    ) -> None:
        again = reopened()
        assert again("read_graph") == graph("read_graph")
        again("add_observations", [{"entityName": "Ines", "contents": ["likes tea"]}])
        assert "likes tea" in graph("open_nodes", ["Ines"])["entities"][0]["observations"]
