"""The client of a server gives the answers of the in-process interface, and writes the same log.

One player at each: with two concurrent writers, the session handles of a server have fewer
conflicts than separate handles, and so use less entropy.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mnemic.adapters.client import SyncMemory as Client
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.results import RecallResult, detailed
from mnemic.specs.strategies import commands
from mnemic.specs.strategies.messages import TextExtractor
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.client.serving import serving
from tests.agreement.agents import POLICIES, Command, Player, Reader, any_commands
from tests.agreement.interfaces.test_interfaces_agree import heard

pytestmark = pytest.mark.extended


def opening(policy: str, clock: ManualClock) -> dict[str, Any]:
    return {
        "embedder": PlaneEmbedder(),
        "analyst": Reader(),
        "extractor": TextExtractor(),
        "clock": clock,
        "entropy": SeededEntropy("the same salt"),
        "policy": POLICIES[policy],
    }


@settings(
    max_examples=max(3, settings().max_examples // 4),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a shorter history takes long to find
)
@given(
    policy=st.sampled_from(("mnemic-1", "tight")),
    first=st.lists(commands.lessons(), min_size=2, max_size=5),
    rest=st.lists(any_commands(), min_size=4, max_size=16),
)
def test_the_client_answers_like_the_in_process_interface(
    policy: str, first: list[Command], rest: list[Command]
) -> None:
    near_clock, far_clock = ManualClock(), ManualClock()
    near_store, far_store = MemoryStore(), MemoryStore()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        near = stack.enter_context(
            SyncMemory.open(near_store, actor="ann", **opening(policy, near_clock))
        )
        server = stack.enter_context(
            serving(Path(folder), far_store, actor="ann", **opening(policy, far_clock))
        )
        server.make()
        # Without retries no command gets an id, which takes entropy in another order.
        far = stack.enter_context(Client.open(server.address, token=server.token("ann"), retries=0))
        players = Player(near, near_clock), Player(far, far_clock)
        decisions: list[Any] = []
        for number, command in enumerate((*first, commands.Consolidate(), *rest)):
            blocks = [block.id for block in near.blocks(limit=1000).items]
            identity = f"c{number}" if number % 2 else None

            def ask(
                player: Player,
                command: Command = command,
                blocks: Any = blocks,
                identity: Any = identity,
            ) -> Any:
                call = player.call(command, blocks, decisions)
                found = None if call is None else call(identity)
                if isinstance(found, RecallResult) and player is players[0]:
                    return detailed(found, "core")
                return found

            answer = [heard(ask, player) for player in players]
            assert answer[1] == answer[0]
            assert far.session_block_ids == near.session_block_ids
            if isinstance(answer[0], dict) and answer[0].get("decision_id"):
                decisions.append(answer[0]["decision_id"])
        assert [*far_store.log("default").read()] == [*near_store.log("default").read()]
