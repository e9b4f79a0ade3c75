"""The documented calls of mem0, in the order in which ``mem0_calls`` runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import field, frozen


@frozen
class Id:
    """The id of a memory that an earlier call added."""

    call: str
    place: int = 0


@frozen
class Call:
    """One call."""

    name: str
    method: str
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(factory=dict)


def call(name: str, method: str, *args: Any, **options: Any) -> Call:
    """Return a call."""
    return Call(name, method, args, options)


INES: Final[dict[str, Any]] = {"user_id": "ines"}
TALK: Final = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "name": "Ines", "content": "I moved from Oslo to Bergen."},
    {"role": "assistant", "content": "Bergen it is. "},
    {"role": "tool", "content": "42"},
    {"role": "user"},
    {"content": "no role"},
    {"role": "user", "content": None},
    {
        "role": "user",
        "name": "Ines",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    },
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
]
FILTERS: Final[dict[str, dict[str, Any]]] = {
    "eq": {"rank": {"eq": 3}},
    "not eq": {"rank": {"eq": 4}},
    "ne": {"rank": {"ne": 4}},
    "not ne": {"rank": {"ne": 3}},
    "gt": {"rank": {"gt": 2}},
    "not gt": {"rank": {"gt": 3}},
    "gte": {"rank": {"gte": 3}},
    "lt": {"rank": {"lt": 4}},
    "not lt": {"rank": {"lt": 3}},
    "lte": {"rank": {"lte": 3}},
    "in": {"rank": {"in": [3, 4]}},
    "not in": {"rank": {"in": [4]}},
    "nin": {"rank": {"nin": [4]}},
    "not nin": {"rank": {"nin": [3]}},
    "range": {"rank": {"gt": 1, "lt": 9}},
    "any": {"rank": "*"},
    "not any": {"nothing": "*"},
    "contains": {"topic": {"contains": "work"}},
    "not contains": {"topic": {"contains": "play"}},
    "icontains": {"topic": {"icontains": "WORK"}},
    "AND": {"AND": [{"topic": "work"}, {"rank": 3}]},
    "not AND": {"AND": [{"topic": "work"}, {"rank": 4}]},
    "OR": {"OR": [{"rank": 3}, {"rank": 9}]},
    "not OR": {"OR": [{"rank": 8}, {"rank": 9}]},
    "NOT": {"NOT": [{"topic": "work"}]},
    "not NOT": {"NOT": [{"topic": "play"}]},
    "within OR": {"OR": [{"rank": {"gt": 2}}, {"topic": "play"}]},
}
"""Filters with operators, by name."""
CALLS: Final = (
    # add
    call("add text", "add", "My cat is called Miso.", user_id="ines", infer=False),
    call("add talk", "add", TALK, user_id="ines", agent_id="helper", run_id="monday", infer=False),
    call(
        "add message",
        "add",
        {"role": "user", "content": "I mend gates."},
        user_id="ines",
        infer=False,
    ),
    call(
        "add metadata",
        "add",
        "The meeting about gates is on Monday.",
        user_id="ines",
        infer=False,
        metadata={
            "topic": "work",
            "rank": 3,
            "tags": ["a", "b"],
            "deep": {"x": None},
            "ok": True,
            "ratio": 0.5,
        },
    ),
    call(
        "add names of ours",
        "add",
        "Pasta for dinner.",
        user_id="ines",
        infer=False,
        metadata={
            "user": "u",
            "key": "k",
            "since": "s",
            "value": 1,
            "role": "r",
            "data": "d",
            "hash": "h",
        },
    ),
    call(
        "add identity",
        "add",
        "Soup for lunch.",
        user_id="ines",
        infer=False,
        metadata={"user_id": "bo", "actor_id": "x", "topic": "food"},
    ),
    call(
        "add created_at",
        "add",
        "Born in Turin.",
        user_id="ines",
        infer=False,
        metadata={"created_at": "2020-02-03T04:05:06+00:00", "attributed_to": "user"},
    ),
    call(
        "add expiring",
        "add",
        "The voucher is valid.",
        user_id="ines",
        infer=False,
        expiration_date="2999-12-31",
    ),
    call(
        "add expired",
        "add",
        "The old voucher was valid.",
        user_id="ines",
        infer=False,
        expiration_date="2020-01-31",
    ),
    call("add twice", "add", "My cat is called Miso.", user_id="ines", infer=False),
    call("add agent", "add", "Answer briefly about rivers.", agent_id="helper", infer=False),
    call("add run", "add", "Step one is done.", run_id="monday", infer=False),
    call("add number", "add", "Seven lives here.", user_id=7, infer=False),
    call("add spaces", "add", "Bo likes rivers.", user_id="  bo ", infer=False),
    call("add nothing", "add", [], user_id="ines", infer=False),
    call("add blank", "add", "", user_id="blank", infer=False),
    call("add no id", "add", "text", infer=False),
    call("add blank id", "add", "text", user_id=" ", infer=False),
    call("add inner space", "add", "text", user_id="a b", infer=False),
    call("add wrong messages", "add", 5, user_id="ines", infer=False),
    call("add wrong day", "add", "text", user_id="ines", infer=False, expiration_date="soon"),
    call("add day of a number", "add", "text", user_id="ines", infer=False, expiration_date=5),
    call("add timestamp", "add", "text", user_id="ines", infer=False, timestamp=5),
    call("add wrong type", "add", "text", user_id="ines", infer=False, memory_type="episodic"),
    call(
        "add procedural",
        "add",
        "text",
        agent_id="helper",
        infer=False,
        memory_type="procedural_memory",
    ),
    # get
    call("get text", "get", Id("add text")),
    call("get said", "get", Id("add talk")),
    call("get white space", "get", Id("add talk", 1)),
    call("get parts", "get", Id("add talk", 3)),
    call("get metadata", "get", Id("add metadata")),
    call("get names of ours", "get", Id("add names of ours")),
    call("get identity", "get", Id("add identity")),
    call("get created_at", "get", Id("add created_at")),
    call("get expired", "get", Id("add expired")),
    call("get blank", "get", Id("add blank")),
    call("get unknown", "get", "nothing"),
    # get_all
    call("all", "get_all", filters=INES),
    call("all of few", "get_all", filters=INES, top_k=2),
    call("all of none", "get_all", filters=INES, top_k=0),
    call("all expired", "get_all", filters=INES, show_expired=True),
    call("all of agent", "get_all", filters={"agent_id": "helper"}),
    call("all of run", "get_all", filters={"run_id": "monday"}),
    call("all of three", "get_all", filters={**INES, "agent_id": "helper", "run_id": "monday"}),
    call("all of number", "get_all", filters={"user_id": 7}),
    call("all of spaces", "get_all", filters={"user_id": " bo"}),
    call("all of stranger", "get_all", filters={"user_id": "stranger"}),
    call("all by actor", "get_all", filters={**INES, "actor_id": "Ines"}),
    call("all by role", "get_all", filters={**INES, "role": "assistant"}),
    call("all by metadata", "get_all", filters={**INES, "topic": "work"}),
    call("all by number", "get_all", filters={**INES, "rank": 3}),
    call("all by list", "get_all", filters={**INES, "topic": ["work", "food"]}),
    call("all by operator", "get_all", filters={**INES, "rank": {"gte": 3}}),
    call("all without filters", "get_all"),
    call("all with metadata alone", "get_all", filters={"topic": "work"}),
    call("all with user_id", "get_all", user_id="ines"),
    call("all wrong top_k", "get_all", filters=INES, top_k=-1),
    call("all top_k of text", "get_all", filters=INES, top_k="3"),
    call("all blank id", "get_all", filters={"user_id": ""}),
    # search: questions that only one memory answers
    call("search", "search", "voucher that is valid", filters=INES, top_k=1),
    call("search said", "search", "I moved from Oslo to Bergen.", filters=INES, top_k=1),
    call("search white space", "search", "  mend gates  ", filters=INES, top_k=1),
    call("search agent", "search", "rivers", filters={"agent_id": "helper"}, top_k=1),
    call("search other", "search", "rivers", filters={"user_id": "bo"}),
    call("search stranger", "search", "rivers", filters={"user_id": "stranger"}),
    call("search metadata", "search", "gates on Monday", filters={**INES, "topic": "work"}),
    call("search list", "search", "gates on Monday", filters={**INES, "topic": ["work", "play"]}),
    call(
        "search expired",
        "search",
        "The old voucher was valid.",
        filters=INES,
        top_k=1,
        show_expired=True,
    ),
    call("search nothing", "search", "voucher", filters=INES, top_k=0),
    call("search reranked", "search", "voucher that is valid", filters=INES, top_k=1, rerank=True),
    call(
        "search explained", "search", "voucher that is valid", filters=INES, top_k=1, explain=True
    ),
    call(
        "search no threshold",
        "search",
        "voucher that is valid",
        filters=INES,
        top_k=1,
        threshold=None,
    ),
    call("search all", "search", "voucher that is valid", filters={"user_id": "bo"}, threshold=0.0),
    call("search sure", "search", "voucher that is valid", filters=INES, threshold=1.0),
    call("search many", "search", "valid voucher", filters=INES),
    *(
        call(
            f"search operator {name}",
            "search",
            "gates on Monday",
            filters={**INES, **given},
            top_k=1,
        )
        for name, given in FILTERS.items()
    ),
    call(
        "search wrong operator", "search", "gates", filters={**INES, "rank": {"near": 3, "gt": 1}}
    ),
    call("search wrong AND", "search", "gates", filters={**INES, "AND": {"topic": "work"}}),
    call("search wrong OR", "search", "gates", filters={**INES, "OR": []}),
    call("search without filters", "search", "gates"),
    call("search with user_id", "search", "gates", user_id="ines"),
    call("search blank", "search", " ", filters=INES),
    call("search number", "search", 5, filters=INES),
    call("search wrong threshold", "search", "gates", filters=INES, threshold=2),
    call("search threshold of text", "search", "gates", filters=INES, threshold="high"),
    call("search wrong top_k", "search", "gates", filters=INES, top_k=-1),
    call("search top_k of truth", "search", "gates", filters=INES, top_k=True),
    call("search reference_date", "search", "gates", filters=INES, reference_date="2026-01-01"),
    # update
    call("update text", "update", Id("add text"), "My cat is called Udon."),
    call("update by name", "update", memory_id=Id("add text"), text="My cat is called Soba."),
    call(
        "update metadata",
        "update",
        Id("add metadata"),
        metadata={"topic": "play", "rank": 4, "new": "n"},
    ),
    call("update both", "update", Id("add message"), "I mend doors.", {"topic": "doors"}),
    call("update data", "update", Id("add twice"), data="My dog is called Rex."),
    call("update same", "update", Id("add twice"), "My dog is called Rex."),
    call("update back", "update", Id("add twice"), "My cat is called Miso."),
    call("update identity", "update", Id("add text"), metadata={"user_id": "bo", "agent_id": "x"}),
    call("update expiring", "update", Id("add expired"), expiration_date="2999-01-01"),
    call("update not expiring", "update", Id("add expiring"), expiration_date=None),
    call("update wrong day", "update", Id("add expiring"), expiration_date="soon"),
    call("update nothing", "update", Id("add text")),
    call("update unknown", "update", "nothing", "text"),
    *(
        call(f"get updated {each}", "get", Id(f"add {each}"))
        for each in ("text", "metadata", "message", "twice", "expired", "expiring")
    ),
    call("all updated", "get_all", filters=INES),
    call("search updated", "search", "Udon Soba cat", filters=INES, top_k=1),
    # history
    *(
        call(f"history {each}", "history", Id(f"add {each}"))
        for each in ("text", "talk", "metadata", "twice", "created_at", "expired", "blank")
    ),
    call("history unknown", "history", "nothing"),
    # delete
    call("delete", "delete", Id("add text")),
    call("delete again", "delete", Id("add text")),
    call("delete unknown", "delete", "nothing"),
    call("get deleted", "get", Id("add text")),
    call("update deleted", "update", Id("add text"), "text"),
    call("history deleted", "history", Id("add text")),
    call("all after", "get_all", filters=INES),
    call("search after", "search", "Udon Soba cat", filters={**INES, "topic": "nothing"}),
    call("delete all", "delete_all", user_id="ines", agent_id="helper"),
    call("history after", "history", Id("add talk")),
    call("all of the rest", "get_all", filters=INES),
    call("delete all of agent", "delete_all", agent_id="helper"),
    call("all of agent after", "get_all", filters={"agent_id": "helper"}),
    call("delete all of stranger", "delete_all", user_id="stranger"),
    call("delete all of nobody", "delete_all"),
    call("delete all blank", "delete_all", user_id=""),
    # reset
    call("reset", "reset"),
    call("all at the end", "get_all", filters=INES),
    call("history at the end", "history", Id("add twice")),
    call("add at the end", "add", "New start.", user_id="ines", infer=False),
    call("get at the end", "get", Id("add at the end")),
)
"""The script, in the order in which it is run."""
