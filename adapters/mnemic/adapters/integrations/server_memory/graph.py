"""The knowledge graph of ``server-memory``: entities with observations, and relations.

Each entity and each relation is a record, so a change of its observations is a revision.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.records import Put, Record, Records

ENTITY: Final = "entity"
RELATION: Final = "relation"
"""First parts of the keys."""

Changes = dict[tuple[str, ...], Put | None]


class Entity(Struct, frozen=True, kw_only=True):
    """A node of the graph."""

    name: str
    entity_type: str = field(name="entityType")
    observations: list[str]


class Relation(Struct, frozen=True, kw_only=True):
    """A directed edge, in active voice: Alice works_at Acme."""

    source: str = field(name="from")
    target: str = field(name="to")
    relation_type: str = field(name="relationType")


class Graph(Struct, frozen=True, kw_only=True):
    """Entities and relations, in the order in which they were created."""

    entities: list[Entity]
    relations: list[Relation]


class Addition(Struct, frozen=True, kw_only=True):
    """Observations to add to an entity."""

    entity_name: str = field(name="entityName")
    contents: list[str]


class Added(Struct, frozen=True, kw_only=True):
    """The observations of an addition that were new."""

    entity_name: str = field(name="entityName")
    added_observations: list[str] = field(name="addedObservations")


class Deletion(Struct, frozen=True, kw_only=True):
    """Observations to delete from an entity."""

    entity_name: str = field(name="entityName")
    observations: list[str]


class EntityNotFound(LookupError):
    """Observations were to be added to an entity that does not exist."""


class KnowledgeGraph:
    """The graph in a memory. Each operation is one transaction.

    Args:
        memory: The memory.
        scope: The user, agent or run that the graph belongs to.
    """

    def __init__(self, memory: SyncMemory, *, scope: Mapping[str, str] | None = None) -> None:
        self._records = Records(memory, root="server-memory", actor="server-memory", scope=scope)

    def create_entities(self, entities: Sequence[Entity]) -> list[Entity]:
        """Create entities, and return those whose name was not taken."""

        def work(records: Records) -> list[Entity]:
            fresh: dict[str, Entity] = {}
            for entity in entities:
                if entity.name not in fresh and records.get((ENTITY, entity.name)) is None:
                    fresh[entity.name] = entity
            records.write({(ENTITY, name): _put(entity) for name, entity in fresh.items()})
            return list(fresh.values())

        return self._records.transaction(work)

    def create_relations(self, relations: Sequence[Relation]) -> list[Relation]:
        """Create relations, and return those that did not exist."""

        def work(records: Records) -> list[Relation]:
            fresh = [
                relation
                for relation in dict.fromkeys(relations)
                if records.get(_path(relation)) is None
            ]
            records.write({_path(each): Put(value=None, text=_sentence(each)) for each in fresh})
            return fresh

        return self._records.transaction(work)

    def add_observations(self, additions: Sequence[Addition]) -> list[Added]:
        """Add observations to entities, and return those that each had not yet.

        Raises:
            EntityNotFound: There is no such entity; nothing is added.
        """

        def work(records: Records) -> list[Added]:
            changed: dict[str, Entity] = {}
            results: list[Added] = []
            for each in additions:
                entity = changed.get(each.entity_name) or _entity(records, each.entity_name)
                if entity is None:
                    raise EntityNotFound(f"Entity with name {each.entity_name} not found")
                fresh = [
                    text for text in dict.fromkeys(each.contents) if text not in entity.observations
                ]
                changed[entity.name] = _with(entity, [*entity.observations, *fresh])
                results.append(Added(entity_name=entity.name, added_observations=fresh))
            records.write({(ENTITY, name): _put(entity) for name, entity in changed.items()})
            return results

        return self._records.transaction(work)

    def delete_entities(self, names: Collection[str]) -> None:
        """Delete entities and all their relations; a name that is not taken is ignored."""

        def work(records: Records) -> None:
            changes: Changes = {
                (ENTITY, name): None for name in names if records.get((ENTITY, name)) is not None
            }
            changes |= {
                record.path: None
                for record in records.below(RELATION)
                if record.path[1] in names or record.path[2] in names
            }
            records.write(changes)

        self._records.transaction(work)

    def delete_observations(self, deletions: Sequence[Deletion]) -> None:
        """Delete observations from entities; what does not exist is ignored."""

        def work(records: Records) -> None:
            changed: dict[str, Entity] = {}
            for each in deletions:
                entity = changed.get(each.entity_name) or _entity(records, each.entity_name)
                if entity is not None:
                    left = [text for text in entity.observations if text not in each.observations]
                    if left != entity.observations:
                        changed[entity.name] = _with(entity, left)
            records.write({(ENTITY, name): _put(entity) for name, entity in changed.items()})

        self._records.transaction(work)

    def delete_relations(self, relations: Sequence[Relation]) -> None:
        """Delete relations; one that does not exist is ignored."""

        def work(records: Records) -> None:
            paths = map(_path, relations)
            records.write({path: None for path in paths if records.get(path) is not None})

        self._records.transaction(work)

    def read_graph(self) -> Graph:
        """Return everything."""
        return Graph(
            entities=list(map(_entity_of, self._created(ENTITY))),
            relations=list(map(_relation_of, self._created(RELATION))),
        )

    def search_nodes(self, query: str) -> Graph:
        """Return the entities whose name, type or observations contain a text in any case.

        With the relations that one of them has an end of.
        """
        wanted = query.lower()
        graph = self.read_graph()
        return _around(
            graph,
            [
                each
                for each in graph.entities
                if any(
                    wanted in text.lower()
                    for text in (each.name, each.entity_type, *each.observations)
                )
            ],
        )

    def open_nodes(self, names: Collection[str]) -> Graph:
        """Return entities by name, with the relations that one of them has an end of."""
        graph = self.read_graph()
        return _around(graph, [each for each in graph.entities if each.name in names])

    def _created(self, kind: str) -> list[Record]:
        return sorted(self._records.below(kind), key=lambda record: record.created_at)


def _around(graph: Graph, entities: list[Entity]) -> Graph:
    names = {entity.name for entity in entities}
    relations = [each for each in graph.relations if {each.source, each.target} & names]
    return Graph(entities=entities, relations=relations)


def _put(entity: Entity) -> Put:
    """Return an entity as a value, and as the text that a recall finds."""
    value: Any = {"entityType": entity.entity_type, "observations": entity.observations}
    head = f"{entity.name} ({entity.entity_type})"
    return Put(value=value, text="\n".join((head, *entity.observations)))


def _entity(records: Records, name: str) -> Entity | None:
    record = records.get((ENTITY, name))
    return None if record is None else _entity_of(record)


def _entity_of(record: Record) -> Entity:
    value = record.value
    return Entity(
        name=record.path[1], entity_type=value["entityType"], observations=value["observations"]
    )


def _with(entity: Entity, observations: list[str]) -> Entity:
    return Entity(name=entity.name, entity_type=entity.entity_type, observations=observations)


def _path(relation: Relation) -> tuple[str, ...]:
    return RELATION, relation.source, relation.target, relation.relation_type


def _relation_of(record: Record) -> Relation:
    _, source, target, kind = record.path
    return Relation(source=source, target=target, relation_type=kind)


def _sentence(relation: Relation) -> str:
    return f"{relation.source} {relation.relation_type.replace('_', ' ')} {relation.target}"
