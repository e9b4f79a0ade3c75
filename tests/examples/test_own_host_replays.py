"""A recorded recall is answered again from the state that it read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import own_host
import pytest
from attrs import evolve

from mnemic.kernel.decisions import Lesson, decide_learn, decide_open, decide_recall
from mnemic.kernel.decisions.recalling import DRAW, drawn
from mnemic.kernel.errors import DecisionNotFound, DecisionSealed, MnemicError, RecipeRetired
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.model.texts import ERASED
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import DEFAULT
from mnemic.projections.retrieval import RecallMethod, Request, answer, explored, replayed
from mnemic.projections.retrieval.packing import Packed
from mnemic.projections.state import State, rebuild

TEXTS = ("the gate opens at nine", "the gate closes at ten", "bees sleep at night", "tea at four")


class WordCounter:
    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def host() -> own_host.OwnHost:
    found = own_host.OwnHost()
    found.append(decide_open(found.view, DEFAULT, nonce=bytes(16), salt=bytes(32)))
    for text in TEXTS:
        found.append(decide_learn(found.view, Lesson(content=text, tags=("gate",))))
    found.promote()
    return found


def recalled(host: own_host.OwnHost, method: RecallMethod, **asked: Any) -> tuple[Packed, Recorded]:
    request = Request(query="when does the gate open", **asked).checked()
    packed = answer(host.view, request, own_host.embed("when does the gate open"), method)
    host.append(decide_recall(host.view, packed.asked, packed.found, host.at))
    return packed, host.log[-1]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"top_k": 1},
        {"token_budget": 40},
        {"frame": "self"},
        {"where": {"tags": "gate", "since": "2025-01-01"}},
        {"asked_by": "ines"},
        {"min_probability": 0.5},
        {"top_k": 2, "explored": drawn(bytes(8) + b"\xff" * 8, NANO, 8)},
    ],
    ids=lambda asked: next(iter(asked), "plain"),
)
def test_each_argument_of_a_recall_is_recorded_and_replayed(asked: dict[str, Any]) -> None:
    own = host()
    method = RecallMethod(tokens=WordCounter())
    packed, recorded = recalled(own, method, **asked)
    own.now_us += 10**12
    own.append(decide_learn(own.view, Lesson(content="the gate opens at eleven now")))
    own.promote()
    again = replayed(rebuild(State(), own.log), recorded, method)
    assert again.result == packed.result
    assert again.found.answer == packed.found.answer
    event = recorded.event
    assert isinstance(event, RecallRecorded)
    assert (again.found.digest, again.found.explored) == (event.digest, event.explored)
    assert decide_recall(own.view, again.asked, again.found, own.at).events == (event,)


def sealed(recorded: Recorded) -> Recorded:
    assert isinstance(recorded.event, RecallRecorded)
    return evolve(recorded, event=evolve(recorded.event, asked=ERASED))


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (sealed, DecisionSealed),
        (lambda recorded: evolve(recorded, event=host().log[0].event), DecisionNotFound),
        (lambda recorded: recorded, RecipeRetired),
    ],
)
def test_what_cannot_be_answered_again_is_refused(
    change: Callable[[Recorded], Recorded], refusal: type[MnemicError]
) -> None:
    own = host()
    _, recorded = recalled(own, RecallMethod(tokens=WordCounter()))
    with pytest.raises(refusal):
        replayed(own.state, change(recorded))  # the default token counter is another one


def test_a_draw_uses_the_random_bytes_of_the_host_and_only_when_asked_to() -> None:
    own, sizes = host(), list[int]()

    def random_bytes(size: int) -> bytes:
        sizes.append(size)
        return bytes(size // 2) + b"\xff" * (size // 2)

    plain = Request(query="when does the gate open", top_k=1)
    vector = own_host.embed("when does the gate open")
    assert explored(own.view, plain, vector, random_bytes=random_bytes) is plain
    drawing = evolve(plain, explore=0.5)
    drawn_for = explored(own.view, drawing, vector, random_bytes=random_bytes)
    assert sizes == [DRAW]
    first, other = (answer(own.view, each, vector).result for each in (plain, drawn_for))
    assert first.block_ids != other.block_ids
    assert (first.propensity, other.propensity < 1.0) == (1.0, True)
