"""forget, erase, revise and rezone: the events, whole."""

from __future__ import annotations

import pytest

from mnemic.kernel.arithmetic import nano
from mnemic.kernel.decisions.archiving import (
    decide_erase,
    decide_forget,
    decide_revise,
    decide_rezone,
)
from mnemic.kernel.events import (
    BlockErased,
    BlockForgotten,
    BlockLearned,
    BlockRezoned,
    BlockSuperseded,
    EdgeConnected,
    Event,
    OutcomeRecorded,
    SpaceOpened,
    Supersession,
)
from mnemic.kernel.identity import block_id
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.texts import ERASED, BlockText, Remark, Salt
from mnemic.projections.views import View
from tests.kernel.decisions.logs import adopted, folded

SALT = b"salt"
ONE, TWO, NEW = (block_id(words, salt=SALT) for words in ("one", "two", "new"))
ABOUT = {
    "category": "observation",
    "source": "tool",
    "zone": "external",
    "confidence": 400_000_000,
    "expires_at_us": 77,
}
SAID = {"author": "Ann", "thread": "rota", "metadata": '{"n":1}'}
OLD = BlockText(of=(ONE,), content="one", tags=("a",), **SAID)


def after(*events: Event, old: BlockText | object = OLD, policy: Policy = DEFAULT) -> View:
    """Return the view of two blocks that are connected, after *events*."""
    return folded(
        SpaceOpened(nonce="0" * 32, salt=Salt(value=SALT)),
        adopted(policy),
        BlockLearned(block_id=ONE, text=old, **ABOUT),  # type: ignore[arg-type]
        BlockLearned(block_id=TWO, text=BlockText(of=(TWO,), content="two")),
        EdgeConnected(source=TWO, target=ONE, relation="supports", weight=1, action="created"),
        *events,
    )


WHY = Remark(of=(ONE,), text="why")


@pytest.mark.parametrize(("reason", "remark"), [(" why ", WHY), (" ", None), (None, None)])
def test_a_reason_belongs_to_the_block_that_is_put_away_or_moved(
    reason: str | None, remark: Remark | None
) -> None:
    view = after()
    assert decide_forget(view, ONE, reason) == BlockForgotten(block_id=ONE, reason=remark)
    assert decide_rezone(view, ONE, " vetted ", reason) == BlockRezoned(
        block_id=ONE, zone="vetted", reason=remark
    )


def test_what_is_so_already_makes_no_event() -> None:
    assert decide_rezone(after(), ONE, " external", "why") is None
    assert decide_forget(after(BlockForgotten(block_id=ONE)), ONE, "why") is None
    assert decide_erase(after(old=ERASED), ONE) is None


def test_a_block_is_erased_in_whatever_state() -> None:
    assert decide_erase(after(), ONE) == BlockErased(block_id=ONE)
    assert decide_erase(after(BlockForgotten(block_id=ONE)), ONE) == BlockErased(block_id=ONE)


def test_a_revision_takes_over_all_but_the_words() -> None:
    bad = OutcomeRecorded(block_ids=(ONE,), signal=0)
    assert decide_revise(after(bad), ONE, "new", " why ") == (
        BlockLearned(
            block_id=NEW,
            text=BlockText(of=(NEW,), content="new", **SAID),  # type: ignore[arg-type]
            **ABOUT,  # type: ignore[arg-type]
        ),
        BlockSuperseded(
            supersession=Supersession(
                old=ONE, new=NEW, cosine=None, moved=(TWO,), beta=1_000_000_000
            ),
            reason=WHY,
        ),
    )


def test_a_revision_of_erased_words_has_none_of_what_was_said() -> None:
    learned, _ = decide_revise(after(old=ERASED), ONE, "new", None)
    assert learned.text == BlockText(of=(NEW,), content="new")


def test_words_that_were_put_away_come_back_as_a_revision() -> None:
    gone = BlockLearned(block_id=NEW, text=BlockText(of=(NEW,), content="new"))
    view = after(gone, BlockForgotten(block_id=NEW))
    learned, superseded = decide_revise(view, ONE, "new", None)
    assert learned.block_id == NEW
    assert superseded.supersession.moved == (TWO,)


def test_a_tag_of_a_zone_without_privileges_slows_nothing_down() -> None:
    old = BlockText(of=(ONE,), content="one", tags=("self/value",))
    _, superseded = decide_revise(after(old=old), ONE, "new", None)
    assert superseded.supersession.rate is None


def test_a_revision_keeps_the_tier_that_a_tag_gave_even_where_two_tiers_fade_alike() -> None:
    policy = Policy(rate_durable=DEFAULT.rate_standard, privilege_from=0.0)
    old = BlockText(of=(ONE,), content="one", tags=("self/value",))
    _, superseded = decide_revise(after(old=old, policy=policy), ONE, "new", None)
    assert superseded.supersession.rate == nano(policy.rate_durable)
