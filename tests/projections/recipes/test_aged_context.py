"""Recipe recall-3: trusted and inherited rarity, age in the strength, and contradicting texts."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import DEFAULT
from mnemic.projections.retrieval.recipes import CONTEXT, CURRENT
from mnemic.projections.retrieval.recipes.aged_context import inherited_rarity
from mnemic.projections.view import View, live
from tests.projections.scripted_state import Talk

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


def facts(*contents: str, policy_changes: dict[str, object] | None = None) -> Talk:
    """Return facts without neighbours, all learned and reinforced at once."""
    changes: dict[str, object] = policy_changes or {}
    talk = Talk(attrs.evolve(DEFAULT, name="changed", **changes))  # type: ignore[arg-type]
    for content in contents:
        talk.say(content, category="knowledge")
    return talk


# --- rarity -----------------------------------------------------------------------------------


def test_the_first_texts_are_neither_rare_nor_common() -> None:
    talk = facts("bees hum softly", "bees hum", "an ocarina", "the")
    plain = talk.state.lexicon.rarity.tolist()
    half = NANO // 2
    expected = [half + (rarity - half) * k // (k + 20) for k, rarity in enumerate(plain[:3])]
    assert talk.part("rarity", "bees") == [*expected, 0]


def test_a_revision_is_as_rare_as_what_it_revises_through_any_number_of_revisions() -> None:
    talk = facts("bees", "bees", "bees", "ocarina whistle softly")
    for number in range(4, 11):
        talk.say(f"ocarina whistle softly {'again ' * number}", category="knowledge")
        talk.supersede(number - 1, number)
    own = talk.state.lexicon.trusted_rarity(20)
    found = inherited_rarity(talk.view())
    assert found[10] == own[3:].max() > own[10]
    assert found.tolist()[:4] == own.tolist()[:4]
    earlier = inherited_rarity(talk.view(talk.version - 1))
    assert earlier[10] == own[10]


# --- who asks ---------------------------------------------------------------------------------


def test_a_question_about_users_names_no_author_called_user() -> None:
    talk = Talk()
    for author in ("user", "Ann"):
        talk.say("the pump runs", author=author)
    asked = "which users run pumps with Ann?"
    assert talk.part("author", asked) == [0, NANO]
    assert talk.part("author", asked, recipe=CONTEXT) == [NANO, NANO]
    assert talk.match("which users?").statistics[-1] != -1


def test_what_the_asker_said_is_stronger_by_its_weight() -> None:
    talk = Talk()
    for role in ("user", "assistant"):
        talk.say("the pump runs", role=role)
    mine, other = talk.match("when does my pump run?").strength.tolist()
    alike = talk.match("when does the pump run?").strength.tolist()
    assert mine - other == 90_000_000 + alike[0] - alike[1]


# --- age --------------------------------------------------------------------------------------


def test_a_holiday_costs_nothing() -> None:
    talk = facts("bees hum", "bees hum too")
    now_us = talk.log[-1].recorded_us
    near, far = (
        live(talk.state, active_us=HOUR_US, instant_us=now_us + days * DAY_US) for days in (0, 400)
    )
    assert strengths(near) == strengths(far)


def test_an_hour_of_work_costs_a_hundredth_of_a_fiftieth() -> None:
    talk = facts("bees hum")
    (fresh,) = strengths(live(talk.state, active_us=0, instant_us=0))
    (later,) = strengths(live(talk.state, active_us=HOUR_US, instant_us=0))
    assert fresh - later == pytest.approx(0.02 * 0.00995 * NANO, rel=1e-3)


@pytest.mark.parametrize("days", [0, 21, 365])
def test_however_old_a_text_is_age_costs_at_most_its_weight(days: int) -> None:
    talk = facts("bees hum", policy_changes={"relevance_recency_clock": "created"})
    now_us = talk.log[-1].recorded_us
    (fresh,) = strengths(live(talk.state, active_us=0, instant_us=now_us))
    (old,) = strengths(live(talk.state, active_us=0, instant_us=now_us + days * DAY_US))
    assert 0 <= fresh - old <= 0.02 * NANO


def strengths(view: View) -> list[int]:
    found: list[int] = CURRENT.match(view, "bees", None, view.with_status(1)).strength.tolist()
    return found


# --- contradictions ---------------------------------------------------------------------------


def test_of_two_contradicting_texts_the_newer_is_stronger() -> None:
    talk = facts("the pump is running, it is running", "the pump is stopped by now")
    before = talk.match("is the pump on?").strength.tolist()
    talk.contradict(0, 1)
    after = talk.match("is the pump on?").strength.tolist()
    assert before[0] > before[1]
    assert after == [before[0], before[0] + 1]
    assert talk.part("raised", "is the pump on?") == [0, before[0] + 1 - before[1]]


def test_a_question_that_names_what_only_the_older_says_prefers_the_older() -> None:
    talk = facts("the pump is running", "the pump is stopped by now")
    talk.contradict(0, 1)
    older, newer = talk.match("is the pump running?").strength.tolist()
    assert older > newer
    assert talk.part("raised", "is the pump running?") == [0, 0]


def test_the_newest_of_several_is_strongest() -> None:
    talk = facts("pump one one", "pump two six seven", "pump three four five eight words")
    talk.contradict(1, 0)
    talk.contradict(2, 1)
    oldest, older, newest = talk.match("pump").strength.tolist()
    assert (older, newest) == (oldest + 1, oldest + 2)


def test_a_newer_text_that_leads_anyway_gains_nothing() -> None:
    talk = facts("the pump and many other things of no concern", "pump pump")
    talk.contradict(0, 1)
    assert talk.part("raised", "pump") == [0, 0]


def test_a_forgotten_text_and_a_removed_edge_raise_nothing() -> None:
    talk = facts("pump one one", "pump two and a few words more")
    before = talk.version
    talk.contradict(0, 1)
    assert talk.part("raised", "pump")[1] > 0
    assert talk.part("raised", "pump", version=before) == [0, 0]
    talk.forget(0)
    assert talk.part("raised", "pump") == [0]


# --- what a probability is made of ------------------------------------------------------------


def test_own_is_the_share_of_terms_that_the_text_holds_without_its_neighbours() -> None:
    talk = Talk()
    talk.say("Where do the bees sleep?", author="Ann")
    talk.say("Under the old porch", author="Ben", minute=1)
    assert talk.part("lexical", "bees sleep")[1] > 0
    assert talk.part("own", "bees sleep") == [NANO, 0]
    half, nothing = talk.part("own", "bees and an ocarina")
    assert 0 < half < NANO // 2
    assert nothing == 0


def test_a_text_of_another_author_than_the_named_one_misses() -> None:
    talk = Talk()
    talk.say("I planted beans", author="Ann")
    talk.say("I planted peas", author="Ben")
    assert talk.part("missed", "What did Ann plant?") == [0, NANO]
    assert talk.part("missed", "What was planted?") == [0, 0]


def test_a_probability_rises_with_the_evidence() -> None:
    talk = facts("the boat is in the north harbour", "a spare key", *("other thing",) * 3)
    probabilities = talk.part("probability", "in which harbour is the boat?")
    assert np.argmax(probabilities) == 0
    assert all(0 < value < NANO for value in probabilities)
