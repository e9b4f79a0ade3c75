"""Complete events of forget, erase, revise and rezone."""

from __future__ import annotations

import pytest
from attrs import evolve

from mnemic.kernel.decision import Decision, first_of, single
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
    BlocksPromoted,
    BlockSuperseded,
    EdgeConnected,
    EmbedderAdopted,
    EmbedderIdentity,
    Event,
    OutcomeRecorded,
    SpaceOpened,
    Supersession,
)
from mnemic.kernel.model.identity import block_id
from mnemic.kernel.model.texts import (
    ERASED,
    BlockText,
    Remark,
    Salt,
)
from mnemic.kernel.model.vectors import quantise
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.projections.view import View
from tests.kernel.decisions.logs import adopted, folded, promotion

SALT = b"salt"
ONE, TWO = (block_id(words, salt=SALT) for words in ("one", "two"))
ABOUT = {
    "category": "observation",
    "source": "tool",
    "zone": "external",
    "confidence": 400_000_000,
    "expires_at_us": 77,
}
SAID = {"author": "Ann", "thread": "rota", "metadata": '{"n":1}'}
NEW = block_id("new", salt=SALT, author=SAID["author"], metadata=SAID["metadata"])
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
def test_a_reason_is_owned_by_the_archived_or_rezoned_block(
    reason: str | None, remark: Remark | None
) -> None:
    view = after()
    assert decide_forget(view, ONE, reason) == single(BlockForgotten(block_id=ONE, reason=remark))
    assert decide_rezone(view, ONE, " vetted ", reason) == single(
        BlockRezoned(block_id=ONE, zone="vetted", reason=remark)
    )


EPHEMERAL, DURABLE, PERMANENT = (
    nano(rate) for rate in (DEFAULT.rate_ephemeral, DEFAULT.rate_durable, DEFAULT.rate_permanent)
)


@pytest.mark.parametrize(
    ("tag", "zone", "to", "rate"),
    [
        ("self/value", "external", "trusted", DURABLE),
        ("self/value", "trusted", "external", EPHEMERAL),
        ("self/constitutional", "external", "trusted", PERMANENT),
        ("self/constitutional", "trusted", "external", EPHEMERAL),
        ("self/value", "external", "vetted", None),
        ("note", "external", "trusted", None),
    ],
)
def test_the_decay_rate_of_an_active_block_follows_the_privileges_of_its_zone(
    tag: str, zone: str, to: str, rate: int | None
) -> None:
    text = BlockText(of=(ONE,), content="one", tags=(tag,))
    waiting = BlockLearned(
        block_id=ONE, text=text, category="observation", source="tool", zone=zone
    )
    embedder = EmbedderAdopted(embedder=EmbedderIdentity(name="line", dimension=1))
    base = adopted(DEFAULT), embedder, waiting
    promoted = BlocksPromoted(promotions=(promotion(ONE, quantise([1.0], dimension=1)),))
    move = BlockRezoned(block_id=ONE, zone=to)
    assert decide_rezone(folded(*base), ONE, to, None) == single(move)
    assert decide_rezone(folded(*base, promoted), ONE, to, None) == single(evolve(move, rate=rate))


def test_a_command_without_effect_makes_no_event() -> None:
    assert decide_rezone(after(), ONE, " external", "why").events == ()
    assert decide_forget(after(BlockForgotten(block_id=ONE)), ONE, "why").events == ()
    assert decide_erase(after(old=ERASED), [ONE]) == Decision((), None, erase=(ONE,))


def test_a_block_in_any_status_can_be_erased() -> None:
    erased = Decision((BlockErased(block_id=ONE, context=()),), None, erase=(ONE,))
    assert decide_erase(after(), [ONE]) == erased
    assert decide_erase(after(BlockForgotten(block_id=ONE)), [ONE]) == erased


def test_a_revision_keeps_everything_but_the_text() -> None:
    bad = OutcomeRecorded(block_ids=(ONE,), signal=0)
    assert decide_revise(after(bad), ONE, "new", " why ").events == (
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


def test_a_revision_of_an_erased_block_has_no_descriptive_fields() -> None:
    learned = first_of(decide_revise(after(old=ERASED), ONE, "new", None).events, BlockLearned)
    assert learned is not None
    plain = block_id("new", salt=SALT)
    assert learned.text == BlockText(of=(plain,), content="new")


def test_an_archived_text_can_return_as_a_revision() -> None:
    gone = BlockLearned(block_id=NEW, text=BlockText(of=(NEW,), content="new", **SAID))  # type: ignore[arg-type]
    view = after(gone, BlockForgotten(block_id=NEW))
    change = decide_revise(view, ONE, "new", None).result
    assert change.new == NEW
    assert change.moved == (TWO,)


def test_a_tag_in_a_zone_without_privileges_does_not_slow_decay() -> None:
    old = BlockText(of=(ONE,), content="one", tags=("self/value",))
    change = decide_revise(after(old=old), ONE, "new", None).result
    assert change.rate is None


def test_a_revision_keeps_the_tier_that_a_tag_gave_even_where_two_tiers_fade_alike() -> None:
    policy = Policy(rate_durable=DEFAULT.rate_standard, privilege_from=0.0)
    old = BlockText(of=(ONE,), content="one", tags=("self/value",))
    change = decide_revise(after(old=old, policy=policy), ONE, "new", None).result
    assert change.rate == nano(policy.rate_durable)
