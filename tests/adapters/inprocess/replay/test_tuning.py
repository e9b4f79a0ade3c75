"""tune: finds a policy that is known to be better, and claims nothing where there is none."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.cli import main
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.replay.policy_search import (
    PARAMETERS,
    Candidates,
    search,
    shares,
)
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import FieldRefused, FrameUnknown, TooFewOutcomes
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.projections.evaluation.net_value import (
    Comparison,
    Shown,
    cautious,
    compared,
    effective,
)

sys.path.insert(0, str(Path(__file__).parents[4] / "benchmarks"))

from tuning_worlds import FRAME, KINDS, Size, World

Open: TypeAlias = Callable[..., SyncMemory]
SMALL = Size(topics=5, notes=8, sessions=120, evaluations=30, parameters=("weights",))


# --- worlds ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def known() -> Generator[World]:
    world = World(KINDS["known"], SMALL, seed=1)
    yield world
    world.memory.close()


def test_where_the_best_policy_is_known_it_is_found(known: World) -> None:
    version = known.memory.status().version
    found = known.tune(seed=1)
    assert found.verdict == "better"
    assert (found.earlier, found.later, found.sessions, found.explored) == (72, 48, 48, 120)
    assert found.gap is not None
    assert found.gap.low is not None
    assert found.gap.low > 0.0
    assert found.effective > 10
    assert found.policy is not None
    policy, before = Policy(**found.policy), known.memory.policy
    assert policy.id == found.policy_id != before.id == found.before_id
    assert {each.name.partition(".")[0] for each in found.changes} == {FRAME}
    in_force, best = known.value(before), known.best_value(before.top_k)
    assert known.value(policy) - in_force > 0.6 * (best - in_force)
    assert [score.name for score in found.scores] == ["recorded", "in force", "tuned"]
    assert found.summary.endswith("useful blocks per answer on 48 later ones.")
    # Nothing was adopted: `value` adopts each policy to measure it, and takes it back.
    assert known.memory.policy == before
    assert version < known.memory.status().version


def test_the_same_seed_proposes_the_same_policy(known: World, tmp_path: Path) -> None:
    options: dict[str, Any] = {"evaluations": 12, "seed": 5, "parameters": ["top_k"]}
    rows, calls = tmp_path / "rows.jsonl", []
    found = known.tune(**options, rows=rows, progress=lambda *step: calls.append(step))
    assert calls[-1] == (12, 12)
    kept = rows.read_bytes()
    assert known.tune(**options, rows=rows) == found
    assert rows.read_bytes() == kept
    assert {each.name for each in found.changes} <= {"top_k"}


@pytest.mark.extended
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_where_policies_do_not_matter_none_is_claimed(seed: int) -> None:
    world = World(KINDS["null"], evolve(SMALL, sessions=90), seed=seed)
    found = world.tune(seed=seed, evaluations=20)
    assert found.verdict != "better"
    world.memory.close()


def test_without_exploration_nothing_is_claimed_for_blocks_that_were_not_shown() -> None:
    world = World(KINDS["silent"], evolve(SMALL, sessions=70), seed=3)
    found = world.tune(evaluations=8)
    assert (found.explored, found.verdict) == (0, "nothing")
    assert (found.policy, found.gap, found.scores) == (None, None, ())
    assert "No recall explored" in " ".join(found.caveats)
    assert found.summary.endswith("none was better than the policy in force.")
    world.memory.close()


# --- refusals -------------------------------------------------------------------------------


def asked(memory: SyncMemory, clock: ManualClock, recalls: int, *, signals: list[float]) -> None:
    """Recall in sessions of two, and score the answers in turn."""
    memory.learn_many(["the harbour gate", "the harbour crane"])
    for number in range(0, recalls, 2):
        with memory.session():
            for turn in (number, number + 1):
                found = memory.recall("harbour", top_k=1)
                if signals:
                    memory.outcome(
                        decision_id=found.decision_id, signal=signals[turn % len(signals)]
                    )
            clock.advance(minutes=6)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ((0, []), "no recall was recorded"),
        ((4, []), "no outcome followed any of 4 recalls in frame 'answer'"),
        ((12, [1.0, 0.0]), "12 recalls of this frame were judged: .* it takes 30, and 20 in 15"),
        ((80, [0.5]), "the outcomes of the earlier recalls are all 0.5, so they tell no policy"),
    ],
    ids=["no decisions", "no outcomes", "too few", "all equal"],
)
def test_a_history_that_is_too_small_is_refused(
    opened: Open, clock: ManualClock, history: tuple[int, list[float]], message: str
) -> None:
    memory, (recalls, signals) = opened(), history
    asked(memory, clock, recalls, signals=signals)
    with pytest.raises(TooFewOutcomes, match=message) as refused:
        memory.tune()
    assert "explore=0.1" in refused.value.recovery


def test_a_frame_that_no_decision_used_is_refused(opened: Open, clock: ManualClock) -> None:
    memory = opened()
    asked(memory, clock, 2, signals=[1.0])
    with pytest.raises(FieldRefused, match="no recorded recall used frame 'task'") as refused:
        memory.tune(frame="task")
    assert refused.value.recovery == "Name a frame that was used: answer (2)."
    with pytest.raises(FrameUnknown):
        memory.tune(frame="dreams")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"parameters": []}, "parameters"),
        ({"parameters": ["zones"]}, "parameters"),
        ({"place_cost": 1.5}, "place_cost"),
        ({"place_cost": True}, "place_cost"),
        ({"evaluations": 0}, "evaluations"),
        ({"seed": 0.5}, "seed"),
        ({"horizon_hours": -1}, "horizon_hours"),
    ],
)
def test_arguments_out_of_range_are_refused(
    opened: Open, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(FieldRefused) as refused:
        opened().tune(**arguments)
    assert refused.value.facts["field"] == field


# --- the search -----------------------------------------------------------------------------


@given(point=st.lists(st.floats(-5.0, 3.0), min_size=7, max_size=7), rate=st.integers(-2, 2))
def test_every_candidate_is_a_valid_policy(point: list[float], rate: int) -> None:
    candidates = Candidates(DEFAULT, "answer", PARAMETERS)
    policy = candidates.policy([*point, rate, 7.0])
    assert Policy.parse(policy.body) == policy
    assert (policy.top_k, policy.rate_standard) == (7, min(1.0, DEFAULT.rate_standard * 4.0**rate))
    assert policy.frame("self") == DEFAULT.frame("self")


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=9).filter(any))
def test_shares_sum_to_one_and_keep_their_order(weights: list[float]) -> None:
    found = shares(weights)
    assert sum(round(1000 * share) for share in found) == 1000
    assert min(found) >= 0.0
    # Shares are thousandths, so equal weights may differ by one.
    assert found[weights.index(max(weights))] >= max(found) - 0.001001


def test_a_search_finds_the_maximum_of_a_known_function() -> None:
    candidates = Candidates(DEFAULT, "answer", ("weights", "top_k"))

    def score(policies: Any) -> list[float]:
        frames = [(policy.frame("answer"), policy.top_k) for policy in policies]
        return [each.recency - 0.1 * abs(top_k - 9) for each, top_k in frames]

    best = search(candidates, score, evaluations=200, seed=2)
    assert best.policy.top_k == 9
    assert best.policy.frame("answer").recency > 0.9
    assert search(candidates, score, evaluations=200, seed=2) == best


# --- the estimator --------------------------------------------------------------------------


def test_differences_are_weighted_by_the_probability_of_being_shown() -> None:
    shown = Shown(
        chances={1: NANO, 2: NANO // 4},
        possible=frozenset({1, 2, 3}),
        gains={1: NANO, 2: NANO // 2},
        group="one",
    )
    cost = NANO // 10

    def value(answer: list[int], other: list[int]) -> float:
        return compared(shown, answer, other, cost=cost).value / NANO

    assert value([1, 2], [1, 2]) == 0.0
    assert value([2], [1]) == pytest.approx(0.4 * 4 - 0.9)
    assert value([1, 3], [1]) == 0.0  # it might have been shown, and was not
    assert value([1, 9], [1]) == -0.1  # it could not have been shown: useless
    assert value([1], [1, 9]) == -0.9  # decisive, for the benefit of the doubt


def test_the_effective_sample_is_that_of_the_blocks_that_differ() -> None:
    even = [Comparison(0, (NANO,)), Comparison(0, (NANO, NANO)), Comparison(0, ())]
    assert effective(even) == 3.0
    assert effective([*even, Comparison(0, (97 * NANO,))]) == pytest.approx(1.06, abs=0.01)
    assert effective([]) == 0.0


def test_a_gain_of_one_session_is_worth_less_than_one_of_many() -> None:
    found = [Comparison(NANO, (NANO,)) for _ in range(4)] + [Comparison(0, ()) for _ in range(12)]
    alone = ["a"] * 4 + list("bcdefghijklm")
    assert cautious(found, alone) == pytest.approx(0.25 - 9.75**0.5 / 16)
    assert cautious(found, range(16)) == pytest.approx(0.25 - 3**0.5 / 16)


# --- the command line -----------------------------------------------------------------------


def test_the_command_prints_what_would_adopt_the_proposal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, out = tmp_path / "m.db", tmp_path / "tuned policy.json"
    world = World(KINDS["known"], SMALL, seed=2, store=SQLiteStore(store, synchronous="normal"))
    before = world.memory.policy
    world.memory.close()
    options = ["--horizon", "0.05", "--place-cost", "0.4", "--evaluations", "20", "--seed", "2"]
    only = ["--parameters", "weights", "--out", str(out), "--rows", str(tmp_path / "rows.jsonl")]
    assert main(["--db", str(store), "tune", *options, *only]) == 0
    printed = capsys.readouterr().out
    assert " is better, +" in printed
    assert f"To adopt it: mnemic policy adopt '{out}'" in printed
    with SyncMemory.open(store, read_only=True) as memory:
        assert memory.policy == before
    assert main(["--db", str(store), "policy", "adopt", str(out)]) == 0
    with SyncMemory.open(store, read_only=True) as memory:
        assert memory.policy.body == Policy(**json.loads(out.read_text("utf-8"))).body
        assert memory.policy.frame(FRAME) != before.frame(FRAME)
