"""A sequence of requests that calls every operation, in an order in which all succeed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from attrs import field, frozen

from mnemic.adapters.http.routing.routes import routes
from mnemic.adapters.remote.documents import spoken
from mnemic.kernel.policy import DEFAULT


@frozen(kw_only=True)
class Step:
    """One operation and its arguments. ``{name}`` is replaced by a field of an earlier answer."""

    operation: str
    arguments: Mapping[str, Any] = field(factory=dict)
    keeps: Mapping[str, str] = field(factory=dict)
    """Values that later steps need: name, and field of the answer; ``*`` is the whole answer."""

    def kept(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of an answer that later steps need."""
        return {
            name: document if where == "*" else document[where]
            for name, where in self.keeps.items()
        }

    def request(self, kept: Mapping[str, Any], *, space: str) -> tuple[str, str, Any]:
        """Return method, path with query, and body; None: none."""
        route = routes()[self.operation]
        arguments = {name: _filled(value, kept) for name, value in self.arguments.items()}
        in_path = {name: quote(str(arguments.pop(name)), safe="") for name in route.in_path}
        path = route.path.format(space=quote(space, safe=""), **in_path)
        if route.by_query:
            asked = urlencode(arguments, doseq=True)
            return route.method, f"{path}?{asked}" if asked else path, None
        return route.method, path, arguments


def _filled(value: Any, kept: Mapping[str, Any]) -> Any:
    match value:
        case str():
            return kept[value[1:-1]] if value.startswith("{") else value
        case list():
            return [_filled(each, kept) for each in value]
        case dict():
            return {name: _filled(each, kept) for name, each in value.items()}
        case _:
            return value


def judged(*signals: float) -> tuple[Step, ...]:
    """Return the steps that judge the one block of as many answers."""
    asked = Step(
        operation="recall",
        arguments={"query": "When is the demo?", "top_k": 1},
        keeps={"judged": "decision_id"},
    )
    outcomes = (
        Step(operation="outcome", arguments={"decision_id": "{judged}", "signal": signal})
        for signal in signals
    )
    return tuple(step for outcome in outcomes for step in (asked, outcome))


def step(operation: str, keeps: Mapping[str, str] | None = None, **arguments: Any) -> Step:
    """Return a step of the sequence."""
    return Step(operation=operation, arguments=arguments, keeps=keeps or {})


WALK: tuple[Step, ...] = (
    step("guide", name="learn"),
    step("start_session"),
    step("learn", {"one": "block_id"}, content="Ines moved the demo to Thursday.", tags=["demo"]),
    step("learn", {"two": "block_id"}, content="The demo was on Tuesday.", tags=["demo"]),
    step("learn", {"gone": "block_id"}, content="Gauge 17 resends after a minute."),
    step("learn", {"doomed": "block_id"}, content="The door code is 4711."),
    step("learn_many", lessons=["Tomasz reads gauges.", {"content": "Gauges drift in winter."}]),
    step("add", messages=[{"role": "user", "content": "I live in Graz."}]),
    step("facts", of="{one}"),
    step("sources", of="{one}"),
    step("consolidate"),
    step("connect", source="{one}", target="{two}", relation="supports"),
    step("connects", edges=[{"source": "{one}", "target": "{gone}"}]),
    step("connect_by_query", source_query="demo", target_query="gauges", dry_run=True),
    step("disconnect", source="{one}", target="{gone}"),
    step("pending_connections"),
    step("edges", block_id="{one}"),
    step("recall", {"decision": "decision_id"}, query="When is the demo?"),
    step("deep_reference", query="When is the demo?"),
    step("outcome", decision_id="{decision}", signal=0.9),
    step("explain", decision_id="{decision}"),
    step("why_not", decision_id="{decision}", block_id="{gone}"),
    step("replay", decision_id="{decision}"),
    step("what_if", decision_id="{decision}", top_k=1),
    step("receipt", {"receipt": "*"}, decision_id="{decision}"),
    step("verify_receipt", receipt="{receipt}"),
    step("replay_all"),
    step("backtest", policies={"mine": spoken(DEFAULT)}),
    step("compose", {"composition": "composition_id"}, members=["{one}", "{two}"], tool="walk"),
    step("ledger"),
    step("composition", composition_id="{composition}"),
    step("label", {"label": "label_id"}, composition_id="{composition}", label="helpful"),
    step("retract_label", label_id="{label}"),
    step("composed_graph", action="never_composed"),
    step("composed_with", block_id="{one}", limit=5),
    step("analogies", block_id="{one}"),
    step("compare", block_id="{one}", other_id="{two}"),
    step("near_duplicates"),
    step("decisions", order="worst", limit=2),
    step("ask_again", decision_id="{decision}"),
    step("trajectory", block_id="{one}", points=4),
    step("subgraph", block_ids=["{one}"], limit=4),
    step("frontier", limit=3, tags=["demo"]),
    step("revise", block_id="{two}", content="The demo is on Thursday, at ten."),
    step("forget", block_id="{gone}"),
    step("rezone", block_id="{one}", zone="trusted"),
    step("block", block_id="{one}"),
    step("blocks", tag="demo", limit=2),
    step("status"),
    step("log", after=1, limit=3),
    step("history", limit=3),
    step("timeline", limit=3),
    step("diff", before=2, after="now"),
    step("policy"),
    step("adopt_policy", policy=spoken(DEFAULT)),
    step("curate"),
    step("end_session"),
    step("calibrate"),
    step("tune", evaluations=4),
    step("reembed", embedder="bundled"),
    step("checkpoint"),
    step("checkpoints"),
    step("drop_checkpoints"),
    step("revert", from_version=20, to_version=20, dry_run=True),
    step("descent", selector={"block": "{one}"}, limit=5),
    step("quarantine", selector={"source": "walk"}),
    step("revert_source", selector={"source": "walk"}, dry_run=True),
    step("fork", space="copy"),
    step("re_extract", extractor="none", space="again"),
    step("adopt_extraction", space="again"),
    step("verify"),
    step("forget_many", where={"tags": ["nobody"]}),
    step("erase_many", where={"tags": ["nobody"]}),
    step("erase", block_ids=["{doomed}"]),
    step("erase_space", confirm="notes"),
)
