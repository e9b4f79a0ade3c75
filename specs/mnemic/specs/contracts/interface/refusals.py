"""Calls that every interface refuses, with the code of each refusal."""

from __future__ import annotations

from mnemic.kernel.policy import DEFAULT
from mnemic.specs.contracts.interface.sample_requests import UNKNOWN_ID, Ask

REFUSED_CALLS: dict[str, tuple[str, str, Ask]] = {
    "learn nothing": ("content-empty", "learn", lambda m, _: m.learn(" \n ")),
    "learn too much": ("content-too-long", "learn", lambda m, _: m.learn("x" * 200_001)),
    "learn under a long tag": (
        "tags-refused",
        "learn",
        lambda m, _: m.learn("x", tags=["x" * 129]),
    ),
    "learn beyond certainty": ("field-refused", "learn", lambda m, _: m.learn("x", confidence=1.5)),
    "learn with an invalid date": (
        "field-refused",
        "learn",
        lambda m, _: m.learn("x", created_at="one of these days"),
    ),
    "revise the unknown": ("block-not-found", "revise", lambda m, _: m.revise(UNKNOWN_ID, "x")),
    "revise into nothing": ("content-empty", "revise", lambda m, ids: m.revise(ids["tea"], "")),
    "forget the unknown": ("block-not-found", "forget", lambda m, _: m.forget(UNKNOWN_ID)),
    "forget for too long a reason": (
        "note-too-long",
        "forget",
        lambda m, ids: m.forget(ids["tea"], "x" * 501),
    ),
    "erase the unknown": ("block-not-found", "erase", lambda m, _: m.erase(UNKNOWN_ID)),
    "look at the unknown": ("block-not-found", "block", lambda m, _: m.block(UNKNOWN_ID)),
    "connect with itself": (
        "self-loop",
        "connect",
        lambda m, ids: m.connect(ids["tea"], ids["tea"]),
    ),
    "connect the unknown": (
        "block-not-found",
        "connect",
        lambda m, ids: m.connect(ids["tea"], UNKNOWN_ID),
    ),
    "connect too strongly": (
        "weight-out-of-range",
        "connect",
        lambda m, ids: m.connect(ids["tea"], ids["gate"], weight=1.01),
    ),
    "connect once more": (
        "edge-exists",
        "connect",
        lambda m, ids: m.connect(ids["gate"], ids["oil"], if_exists="error"),
    ),
    "connect with an unknown if_exists": (
        "unknown-if-exists",
        "connect",
        lambda m, ids: m.connect(ids["gate"], ids["oil"], if_exists="merge"),
    ),
    "connect with too long a note": (
        "note-too-long",
        "connect",
        lambda m, ids: m.connect(ids["gate"], ids["tea"], note="x" * 501),
    ),
    "disconnect from itself": (
        "self-loop",
        "disconnect",
        lambda m, ids: m.disconnect(ids["tea"], ids["tea"]),
    ),
    "recall in an unknown frame": (
        "frame-unknown",
        "recall",
        lambda m, _: m.recall("x", frame="nobody's"),
    ),
    "recall no block at all": ("field-refused", "recall", lambda m, _: m.recall("x", top_k=0)),
    "recall by an unknown key": (
        "field-refused",
        "recall",
        lambda m, _: m.recall("x", where={"colour": "red"}),
    ),
    "recall by a range without bounds": (
        "field-refused",
        "where.nested",
        lambda m, _: m.recall("x", where={"range": {"confidence": {}}}),
    ),
    "recall by no filter": (
        "field-refused",
        "where.nested",
        lambda m, _: m.recall("x", where={"any": []}),
    ),
    "score above one": (
        "signal-out-of-range",
        "outcome",
        lambda m, ids: m.outcome([ids["tea"]], signal=1.5),
    ),
    "score unknown blocks alone": (
        "batch-refused",
        "outcome",
        lambda m, _: m.outcome([UNKNOWN_ID], signal=1.0),
    ),
    "score no block": ("nothing-to-score", "outcome", lambda m, _: m.outcome([], signal=1.0)),
    "score an unknown decision": (
        "decision-not-found",
        "outcome",
        lambda m, _: m.outcome(decision_id="d999", signal=1.0),
    ),
    "consolidate fewer than none": (
        "field-refused",
        "consolidate",
        lambda m, _: m.consolidate(limit=-1),
    ),
    "end no session": ("session-state", "end_session", lambda m, _: m.end_session()),
    "look back beyond the end": (
        "point-out-of-range",
        "as_of",
        lambda m, _: m.as_of(version=999).status(),
    ),
    "look back at two points": (
        "field-refused",
        "as_of",
        lambda m, _: m.as_of(version=1, hour=0.0).status(),
    ),
    "look back without a point": ("field-refused", "as_of", lambda m, _: m.as_of().status()),
    "look back before the beginning": (
        "point-out-of-range",
        "as_of",
        lambda m, _: m.as_of(hour=-1.0).status(),
    ),
    "look back at no date": ("field-refused", "as_of", lambda m, _: m.as_of(at="once").status()),
    "look back at no decision": (
        "decision-not-found",
        "as_of",
        lambda m, _: m.as_of(decision="d0").status(),
    ),
    "replay an unknown decision": ("decision-not-found", "replay", lambda m, _: m.replay("d0")),
    "explain an unknown decision": (
        "decision-not-found",
        "explain",
        lambda m, _: m.explain("d0"),
    ),
    "why-not of an unknown decision": (
        "decision-not-found",
        "why_not",
        lambda m, ids: m.why_not("d0", ids["tea"]),
    ),
    "what-if of an unknown decision": (
        "decision-not-found",
        "what_if",
        lambda m, _: m.what_if("d0", top_k=1),
    ),
    "receipt of an unknown decision": (
        "decision-not-found",
        "receipt",
        lambda m, _: m.receipt("d0"),
    ),
    "verify an invalid receipt": (
        "field-refused",
        "verify_receipt",
        lambda m, _: m.verify_receipt({"kind": "a receipt"}),
    ),
    "backtest an unknown objective": (
        "field-refused",
        "backtest backtest.shape",
        lambda m, _: m.backtest([DEFAULT], objective="beauty"),
    ),
    "backtest backwards in time": (
        "field-refused",
        "backtest",
        lambda m, _: m.backtest([DEFAULT], from_=2.0, to=1.0),
    ),
    "calibrate without outcomes": ("too-few-outcomes", "calibrate", lambda m, _: m.calibrate()),
    "tune without decisions": ("too-few-outcomes", "tune", lambda m, _: m.tune()),
    "tune an unknown frame": ("frame-unknown", "tune", lambda m, _: m.tune(frame="dreams")),
    "recall with an impossible probability": (
        "field-refused",
        "recall recall.min_probability",
        lambda m, _: m.recall("x", min_probability=1.5),
    ),
    "recall probable blocks without a question": (
        "field-refused",
        "recall recall.min_probability",
        lambda m, _: m.recall(min_probability=0.5),
    ),
    "compare points in the wrong order": ("field-refused", "diff", lambda m, _: m.diff(3, 2)),
    "compare with the future": ("point-out-of-range", "diff", lambda m, _: m.diff(0, 999)),
    "cut the timeline into nothing": (
        "field-refused",
        "timeline",
        lambda m, _: m.timeline(bins=0),
    ),
    "list decisions by chance": (
        "field-refused",
        "decisions",
        lambda m, _: m.decisions(order="random"),
    ),
    "follow a block to no point": (
        "field-refused",
        "trajectory",
        lambda m, ids: m.trajectory(ids["gate"], points=1),
    ),
    "draw the surroundings of nothing": (
        "field-refused",
        "subgraph subgraph.shape",
        lambda m, _: m.subgraph([]),
    ),
    "revert beyond the end": (
        "point-out-of-range",
        "revert",
        lambda m, _: m.revert(999, 999),
    ),
    "quarantine everything": ("field-refused", "quarantine", lambda m, _: m.quarantine({})),
    "quarantine an unknown block": (
        "block-not-found",
        "quarantine",
        lambda m, _: m.quarantine({"block": UNKNOWN_ID}),
    ),
    "descend from an unknown key": (
        "field-refused",
        "descent",
        lambda m, _: m.descent({"author": "Ines"}),
    ),
    "revert in the wrong order": ("field-refused", "revert", lambda m, _: m.revert(3, 2)),
    "export beyond the end": (
        "point-out-of-range",
        "export",
        lambda m, _: m.export("nowhere.jsonl", upto=999),
    ),
    "fork beyond the end": (
        "point-out-of-range",
        "fork",
        lambda m, _: m.fork("trial", version=999),
    ),
    "erase the space by another name": (
        "field-refused",
        "erase_space",
        lambda m, _: m.erase_space("elsewhere"),
    ),
    "fork into itself": ("space-exists", "fork", lambda m, _: m.fork("default")),
    "fork into no name": ("field-refused", "fork", lambda m, _: m.fork(" ")),
    # --- the ledger
    "compose nothing": ("field-refused", "compose compose.shape", lambda m, _: m.compose([])),
    "compose the unknown": ("block-not-found", "compose", lambda m, _: m.compose([UNKNOWN_ID])),
    "compose in an unknown role": (
        "field-refused",
        "compose",
        lambda m, ids: m.compose([{"block_id": ids["tea"], "role": "villain"}]),
    ),
    "compose and consume an unknown share": (
        "field-refused",
        "compose",
        lambda m, ids: m.compose([ids["tea"]], consume="some"),
    ),
    "compose under an id of the log": (
        "field-refused",
        "compose",
        lambda m, ids: m.compose([ids["tea"]], composition_id="c7"),
    ),
    "look at an unknown composition": (
        "composition-not-found",
        "composition",
        lambda m, _: m.composition("c99"),
    ),
    "list compositions of the unknown": (
        "block-not-found",
        "ledger",
        lambda m, _: m.ledger(of=UNKNOWN_ID),
    ),
    "list partners of the unknown": (
        "block-not-found",
        "composed_with",
        lambda m, _: m.composed_with(UNKNOWN_ID),
    ),
    "label the unknown": (
        "composition-not-found",
        "label",
        lambda m, _: m.label("c99", "helpful"),
    ),
    "retract an unknown label": (
        "label-not-found",
        "retract_label",
        lambda m, _: m.retract_label("l99"),
    ),
    "score an unknown composition": (
        "composition-not-found",
        "outcome",
        lambda m, _: m.outcome(composition_id="c99", signal=1.0),
    ),
    "queue in an unknown mode": (
        "field-refused",
        "frontier",
        lambda m, _: m.frontier(mode="baroque"),
    ),
    "queue for an unknown decision": (
        "decision-not-found",
        "frontier",
        lambda m, _: m.frontier(decision="d0"),
    ),
    "weigh nothing": ("field-refused", "deep_reference", lambda m, _: m.deep_reference(" ")),
    # --- the rest
    "edges of the unknown": ("block-not-found", "edges", lambda m, _: m.edges(UNKNOWN_ID)),
    "analogies of the unknown": (
        "block-not-found",
        "analogies",
        lambda m, _: m.analogies(UNKNOWN_ID),
    ),
    "compare with the unknown": (
        "block-not-found",
        "compare",
        lambda m, ids: m.compare(ids["tea"], UNKNOWN_ID),
    ),
    "the past of the unknown": (
        "block-not-found",
        "history",
        lambda m, _: m.history(of=UNKNOWN_ID),
    ),
    "connect by too sure a query": (
        "field-refused",
        "connect_by_query",
        lambda m, _: m.connect_by_query("a", "b", min_confidence=1.5),
    ),
    "connect a batch that is no list": (
        "field-refused",
        "connects connects.shape",
        lambda m, ids: m.connects({"source": ids["tea"], "target": ids["gate"]}),
    ),
    "learn a batch that is no list": (
        "field-refused",
        "learn_many learn_many.shape",
        lambda m, _: m.learn_many("the lamp is new"),
    ),
    "rezone the unknown": (
        "block-not-found",
        "rezone",
        lambda m, _: m.rezone(UNKNOWN_ID, "vetted"),
    ),
    "rezone to nowhere": ("field-refused", "rezone", lambda m, ids: m.rezone(ids["tea"], " ")),
    "adopt no policy": (
        "policy-refused",
        "adopt_policy adopt_policy.shape",
        lambda m, _: m.adopt_policy({"top_k": "many"}),
    ),
    "guide of an unknown operation": ("guide-unknown", "guide", lambda m, _: m.guide("levitate")),
}
"""Refused calls by name: the code of the refusal, the features it needs, and the call."""

LIMITED: dict[str, Ask] = {
    "analogies": lambda m, ids, limit: m.analogies(ids["gate"], limit=limit),
    "blocks": lambda m, _, limit: m.blocks(limit=limit),
    "composed_with": lambda m, ids, limit: m.composed_with(ids["gate"], limit=limit),
    "diff": lambda m, _, limit: m.diff(0, limit=limit),
    "frontier": lambda m, _, limit: m.frontier(limit=limit),
    "history": lambda m, _, limit: m.history(limit=limit),
    "ledger": lambda m, _, limit: m.ledger(limit=limit),
    "log": lambda m, _, limit: m.log(after=-1, limit=limit),
    "timeline": lambda m, _, limit: m.timeline(limit=limit),
}
"""Operations with a limit: from 1 to 1000 entries at a time."""
