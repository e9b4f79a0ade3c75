"""backtest: past decisions under other policies, scored by later outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from attrs import evolve, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import BatchRefused, FieldRefused, PolicyRefused
from mnemic.kernel.policy import DEFAULT, ELFMEM, Frame, Policy
from mnemic.kernel.results import RECORDED, Backtest, PolicyScore, RecallResult
from mnemic.projections.evaluation.bootstrap import intervals, random_words

Open: TypeAlias = Callable[..., SyncMemory]
Busy: TypeAlias = Callable[[SyncMemory], list[RecallResult]]


def attention(name: str, **weights: float) -> Policy:
    """Return the default policy with other weights in frame ``attention``."""
    others = [frame for frame in DEFAULT.frames if frame.name != "attention"]
    return evolve(
        DEFAULT,
        name=name,
        default_frame="attention",
        frames=(Frame(name="attention", **weights), *others),  # type: ignore[arg-type]
    )


BY_WORDS = attention("by-words", relevance=1.0)
BY_AGE = attention("by-age", recency=1.0)
WIDE = evolve(DEFAULT, name="wide", top_k=8)


def score_of(found: Backtest, name: str) -> PolicyScore:
    (score,) = (score for score in found.scores if score.name == name)
    return score


@pytest.fixture
def judged(opened: Open, clock: ManualClock) -> SyncMemory:
    """A memory that returned the newest first, where the best match served best.

    In each of twelve sessions an old block answers the question and the new ones do not.
    """
    memory = opened(policy=evolve(BY_AGE, name="newest-first", top_k=2))
    gauges = [
        memory.learn(f"gauge {fact} of tower north", created_at="2020-01-01").block_id
        for fact in range(12)
    ]
    memory.learn_many(["nothing new today", "nothing new either"])
    for fact, gauge in enumerate(gauges):
        with memory.session():
            found = memory.recall(f"gauge {fact} tower")
            memory.outcome([gauge], 1.0)
            memory.outcome(list(found.block_ids), 0.0)
            clock.advance(hours=1)
    return memory


def test_the_better_policy_is_found_with_its_gap(judged: SyncMemory) -> None:
    found = judged.backtest([BY_WORDS, BY_AGE], horizon_hours=0.5)
    assert (found.decisions, found.judged, found.sessions) == (12, 12, 12)
    recorded, by_words, by_age = found.scores
    assert (recorded.name, by_words.name, by_age.name) == (RECORDED, "by-words", "by-age")
    assert recorded.ndcg is not None
    assert by_words.ndcg is not None
    assert by_words.ndcg_gap is not None
    assert recorded.ndcg.mean < 0.3
    assert by_words.ndcg.mean > 0.9
    assert by_words.ndcg_gap.mean == pytest.approx(by_words.ndcg.mean - recorded.ndcg.mean)
    assert by_words.ndcg_gap.sure
    assert found.best == by_words
    assert found.summary.startswith("12 decisions answered again, 12 judged: best ndcg ")
    assert "Only one step is compared" in found.summary


def test_the_policy_in_force_reproduces_the_recorded_answers(opened: Open) -> None:
    memory = opened(policy=evolve(DEFAULT, name="two", top_k=2))
    for fact in range(8):
        memory.learn(f"the harbour fact {fact}")
    for fact in range(8):
        found = memory.recall(f"harbour fact {fact}", explore=0.8)
        memory.outcome(decision_id=found.decision_id, signal=fact / 8)
    answer = memory.backtest([memory.policy, BY_AGE])
    recorded, same, other = answer.scores
    assert same.digest == recorded.digest != other.digest
    assert same.ndcg == recorded.ndcg
    assert same.ndcg_gap is not None
    assert (same.ndcg_gap.mean, same.ndcg_gap.low, same.ndcg_gap.high) == (0.0, 0.0, 0.0)
    assert "two answers exactly what was recorded." in answer.caveats


def test_a_backtest_writes_nothing_and_is_repeatable(judged: SyncMemory) -> None:
    version = judged.status().version
    first = judged.backtest([BY_WORDS, WIDE], seed=7)
    assert judged.backtest([BY_WORDS, WIDE], seed=7) == first
    assert judged.status().version == version


def test_only_decisions_in_the_range_of_hours_count(judged: SyncMemory) -> None:
    whole = judged.backtest([])
    assert whole.to_hour is not None
    half = judged.backtest([], from_=3.0, to=whole.to_hour / 2)
    assert half.from_hour is not None
    assert half.to_hour is not None
    assert 3.0 <= half.from_hour <= half.to_hour <= whole.to_hour / 2
    assert 0 < half.decisions < whole.decisions
    none = judged.backtest([WIDE], from_=1000.0)
    assert (none.decisions, none.best, none.from_hour) == (0, None, None)
    assert none.summary.startswith(
        "0 decisions answered again, 0 judged: there is nothing to compare."
    )


def test_outcomes_after_the_horizon_do_not_count(opened: Open, clock: ManualClock) -> None:
    memory = opened()
    memory.learn("the harbour gate")
    with memory.session():
        found = memory.recall("gate")
        clock.advance(hours=1)
        memory.log()
        memory.recall("gate", record=False)
        clock.advance(hours=1)
        memory.outcome(decision_id=found.decision_id, signal=0.9)
    late = memory.backtest([], horizon_hours=0.25)
    assert (late.judged, late.scores[0].coverage) == (0, 0.0)
    heard = memory.backtest([], horizon_hours=2.0)
    assert heard.judged == 1
    assert heard.scores[0].reward is not None
    assert heard.scores[0].reward.mean == 0.9


def test_labels_of_compositions_judge_their_members(memory: SyncMemory) -> None:
    gate = memory.learn("the harbour gate").block_id
    crane = memory.learn("the harbour crane").block_id
    memory.recall("harbour gate")
    composed = memory.compose([gate, crane])
    memory.label(composed.composition_id, "accepted")
    wrong = memory.label(composed.composition_id, "dead_end")
    half = memory.backtest([])
    assert half.scores[0].reward is not None
    assert half.scores[0].reward.mean == 0.5
    memory.retract_label(wrong.label_id)
    whole = memory.backtest([])
    assert whole.scores[0].reward is not None
    assert whole.scores[0].reward.mean == 1.0


def test_sealed_decisions_are_left_out_and_counted(judged: SyncMemory) -> None:
    first = judged.blocks(limit=1).items[0].id
    judged.erase(first)
    sealed = judged.replay_all().sealed
    assert sealed
    found = judged.backtest([BY_WORDS])
    assert (found.decisions, found.left_out) == (12 - sealed, {"sealed": sealed})
    assert f"{sealed} decisions left out: they read text that was erased since." in found.caveats


def test_a_policy_without_the_frame_has_no_answer(memory: SyncMemory) -> None:
    memory.learn("the harbour gate")
    memory.recall("gate", frame="world")
    found = memory.backtest(ELFMEM)
    score = score_of(found, "elfmem-0.20")
    assert (score.answered, score.unanswered, score.places) == (0, 1, 0)
    assert any("it lacks the frame" in caveat for caveat in found.caveats)


def test_bounds_enclose_every_estimate(opened: Open, busy: Busy) -> None:
    memory = opened()
    busy(memory)
    found = memory.backtest([BY_WORDS, BY_AGE, WIDE])
    answer = [
        estimate
        for score in found.scores
        for name in ("ndcg", "hit", "reward")
        if (estimate := score.estimate(name)) is not None
    ]
    assert answer
    assert all(0.0 <= each.floor <= each.mean <= each.ceiling <= 1.0 for each in answer)


def test_caveats_name_the_limits_of_the_result(opened: Open, busy: Busy) -> None:
    memory = opened(policy=evolve(DEFAULT, name="no-floor", default_frame="attention"))
    busy(memory)
    found = memory.backtest([WIDE])
    answer = " ".join(found.caveats)
    assert "the memory itself would have developed differently" in answer
    assert "too few for a conclusion" in answer
    assert "narrower than they should be" in answer
    assert "No recall explored" in answer
    assert "a longer answer hits more" in answer


# --- exploring ----------------------------------------------------------------------------------


def test_without_exploring_nothing_is_corrected(judged: SyncMemory) -> None:
    found = judged.backtest([BY_WORDS])
    assert found.explored == 0
    assert [score.corrected for score in found.scores] == [None, None]


def test_explored_recalls_correct_for_what_was_not_shown(opened: Open) -> None:
    memory = opened(policy=evolve(DEFAULT, name="two", top_k=2))
    for fact in range(8):
        memory.learn(f"the harbour fact {fact}")
    for _ in range(20):
        with memory.session():
            found = memory.recall("harbour fact", explore=0.5)
            memory.outcome(decision_id=found.decision_id, signal=0.5)
    answer = memory.backtest([WIDE])
    assert answer.explored == 20
    recorded, wide = answer.scores
    assert recorded.corrected is not None
    assert wide.corrected is not None
    assert recorded.corrected.mean == wide.corrected.mean == 0.5
    assert recorded.corrected.decisions == 20
    assert recorded.corrected.blocks < wide.corrected.blocks
    assert wide.corrected.effective < wide.corrected.blocks


# --- windows, tables and plots ------------------------------------------------------------------


def test_windows_split_the_hours_and_hold_every_decision(judged: SyncMemory) -> None:
    found = judged.backtest([BY_WORDS])
    windows = found.scores[1].windows
    assert (windows[0].from_hour, windows[-1].to_hour) == (found.from_hour, found.to_hour)
    held = [window.estimate.decisions for window in windows if window.estimate is not None]
    assert sum(held) == 12


def test_the_table_has_a_line_for_each_policy(judged: SyncMemory) -> None:
    lines = judged.backtest({"words": BY_WORDS, "wide": WIDE}).table.splitlines()
    assert [line.split()[0] for line in lines] == ["policy", RECORDED, "words", "wide"]
    assert len({len(line.split("  ")) for line in lines[1:]}) >= 1


def test_as_plain_values_it_has_everything(judged: SyncMemory) -> None:
    answer = judged.backtest([BY_WORDS]).to_dict()
    assert answer["best"] == "by-words"
    assert [score["name"] for score in answer["scores"]] == [RECORDED, "by-words"]
    assert answer["scores"][1]["coverage"] > 0
    assert answer["caveats"][0].startswith("Only one step")


@pytest.mark.parametrize(("name", "begins"), [("b.png", b"\x89PNG"), ("b.svg", b"<?xml")])
def test_a_backtest_can_be_plotted(
    judged: SyncMemory, tmp_path: Path, name: str, begins: bytes
) -> None:
    pytest.importorskip("matplotlib")
    drawn = judged.backtest([BY_WORDS, WIDE]).plot(tmp_path / name)
    assert drawn.read_bytes().startswith(begins)


@pytest.mark.parametrize("name", ["_aside", r"$\frac{$", "a$b$"])
def test_policy_names_are_plotted_literally(judged: SyncMemory, tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    drawn = judged.backtest({name: WIDE}).plot(tmp_path / "b.svg")
    assert f"<!-- {name} -->" in drawn.read_text(encoding="utf-8")


def test_an_empty_backtest_can_be_plotted(memory: SyncMemory, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert memory.backtest([]).plot(tmp_path / "empty.png").stat().st_size > 0


def test_an_unknown_plot_format_is_refused(memory: SyncMemory, tmp_path: Path) -> None:
    with pytest.raises(FieldRefused, match=r"\.txt"):
        memory.backtest([]).plot(tmp_path / "b.txt")


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policies",
    [None, "loose", 3, ["loose"], [DEFAULT, DEFAULT], {"": DEFAULT}, {RECORDED: DEFAULT}, [None]],
)
def test_invalid_policies_are_refused(memory: SyncMemory, policies: Any) -> None:
    with pytest.raises(PolicyRefused):
        memory.backtest(policies)


@pytest.mark.parametrize(
    "given",
    [
        {"from_": -1.0},
        {"from_": "then"},
        {"from_": 2.0, "to": 1.0},
        {"to": float("nan")},
        {"objective": "joy"},
        {"horizon_hours": -1},
        {"horizon_hours": True},
        {"seed": 0.5},
    ],
    ids=str,
)
def test_arguments_out_of_range_are_refused(memory: SyncMemory, given: dict[str, Any]) -> None:
    with pytest.raises(FieldRefused):
        memory.backtest([], **given)


# --- intervals ----------------------------------------------------------------------------------


def test_random_words_match_the_published_generator() -> None:
    assert random_words(1234567, 0, 3).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]
    assert random_words(1234567, 2, 1).tolist() == [9817491932198370423]


def test_an_interval_is_as_wide_as_its_groups_differ() -> None:
    groups = [f"session {number // 2}" for number in range(40)]
    same, apart, none = intervals([[5] * 40, [0, 0, 10, 10] * 10, [None] * 40], groups, seed=1)
    assert (same, none) == (type(same)(5.0, 5.0, 5.0), None) if same is not None else False
    assert apart is not None
    assert apart.mean == 5.0
    assert apart.low is not None
    assert apart.high is not None
    # Twenty groups of 0 or 10: the mean varies by 5 / sqrt(20) = 1.12, twice that on each side.
    assert 2.0 <= apart.low <= 3.5
    assert 6.5 <= apart.high <= 8.0


def test_a_single_group_has_no_interval() -> None:
    (found,) = intervals([[1, 2, 3]], ["one"] * 3, seed=0)
    assert found is not None
    assert (found.mean, found.low, found.high) == (2.0, None, None)


# --- no leaks from the future -------------------------------------------------------------------


@frozen
class Action:
    """A random operation on a memory."""

    kind: str
    which: int


KINDS = (
    *("learn", "recall", "good", "bad", "adopt", "session", "forget", "link"),
    *("compose", "label", "retract", "curate", "revise", "rezone", "revert", "reembed"),
)
STEPS = st.lists(
    st.builds(
        Action,
        st.sampled_from(KINDS),
        st.integers(min_value=0, max_value=9),
    ),
    max_size=14,
)
WORDS = "gate crane rope lamp bell buoy net sail oar keel".split()


class SyntheticLife:
    """A memory that executes random operations."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore()
        self.memory = SyncMemory.open(
            self.store,
            embedder=HashEmbedder(),
            clock=self.clock,
            entropy=SeededEntropy("life"),
        )
        for word in WORDS[:4]:
            self.memory.learn(f"the harbour {word}", tags=[word])
        self.memory.start_session()
        self.decided: list[RecallResult] = []

    def live(self, steps: Sequence[Action]) -> None:
        """Execute each step."""
        for step in steps:
            self.clock.advance(minutes=7)
            getattr(self, step.kind)(step.which)

    def learn(self, which: int) -> None:
        self.memory.learn(f"the harbour {WORDS[which]} once more", tags=[WORDS[which]])

    def recall(self, which: int) -> None:
        found = self.memory.recall(f"harbour {WORDS[which]}", explore=which / 10)
        self.decided.append(found)

    def good(self, which: int) -> None:
        self._judge(which, 0.9)

    def bad(self, which: int) -> None:
        self._judge(which, 0.05)

    def _judge(self, which: int, signal: float) -> None:
        if self.decided:
            found = self.decided[which % len(self.decided)]
            if which % 2:
                self.memory.outcome(decision_id=found.decision_id, signal=signal)
            elif found.block_ids:
                with suppress(BatchRefused):  # it may be archived by then
                    self.memory.outcome(list(found.block_ids[:1]), signal)

    def adopt(self, which: int) -> None:
        self.memory.adopt_policy((DEFAULT, WIDE, BY_AGE)[which % 3])

    def session(self, which: int) -> None:
        self.memory.end_session()
        self.clock.advance(hours=which)
        self.memory.start_session()

    def forget(self, which: int) -> None:
        blocks = self.memory.blocks(status="active").items
        if blocks:
            self.memory.forget(blocks[which % len(blocks)].id, "no use")

    def link(self, which: int) -> None:
        blocks = self.memory.blocks(status="active").items
        if len(blocks) < 4:
            return
        self.memory.connect(blocks[0].id, blocks[1 + which % 3].id, "supports")

    def compose(self, which: int) -> None:
        blocks = self.memory.blocks(status="active").items
        if blocks:
            self.memory.compose([block.id for block in blocks[which % len(blocks) :][:2]])

    def label(self, which: int) -> None:
        composed = self.memory.ledger()
        if composed:
            label = ("helpful", "dead_end", "accepted")[which % 3]
            self.memory.label(composed[which % len(composed)].id, label)

    def retract(self, _: int) -> None:
        labels = [label for each in self.memory.ledger() for label in each.labels]
        if labels:
            self.memory.retract_label(labels[-1].label_id)

    def curate(self, which: int) -> None:
        self.clock.advance(minutes=5 * which)
        self.memory.curate()

    def revise(self, which: int) -> None:
        blocks = self.memory.blocks(status="active").items
        if blocks:
            block = blocks[which % len(blocks)]
            self.memory.revise(block.id, f"{block.content} by {WORDS[which]}", "seen again")

    def rezone(self, which: int) -> None:
        blocks = self.memory.blocks(status="active").items
        if blocks:
            self.memory.rezone(blocks[which % len(blocks)].id, f"zone {which % 2}")

    def revert(self, which: int) -> None:
        head = self.memory.status().version
        self.memory.revert(max(1, head - which), max(1, head - which // 2))

    def reembed(self, which: int) -> None:
        self.memory.reembed(HashEmbedder(16 + which % 2))


@settings(max_examples=max(10, settings().max_examples // 4))
@given(before=STEPS, after=STEPS, instead=STEPS)
def test_later_events_never_change_an_answer(
    before: list[Action], after: list[Action], instead: list[Action]
) -> None:
    one, other = SyntheticLife(), SyntheticLife()
    asked = [*before, Action("recall", 3)]
    one.live(asked)
    other.live(asked)
    hour = one.memory.as_of(version=one.memory.status().version).hour
    policies = [DEFAULT, BY_WORDS, WIDE]
    straight = one.memory.backtest(policies, to=hour)
    # Time passes, so that no later recall falls into the same hour.
    for life, later in ((one, after), (other, instead)):
        life.clock.advance(minutes=1)
        life.live(later)
    again, differently = (life.memory.backtest(policies, to=hour) for life in (one, other))
    assert again.decisions == straight.decisions == len(one.decided[: straight.decisions])
    digests = [
        [score.digest for score in answer.scores] for answer in (straight, again, differently)
    ]
    assert digests[0] == digests[1] == digests[2]
    for life in (one, other):
        life.memory.close()
