"""Contract of transfer operations: receipts, exports, imports, forks and erasure of a space."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemic.kernel.errors import MnemicError
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.fixtures import (
    Interface,
    InterfaceFixture,
    Setting,
    needs,
    version_of,
)
from mnemic.specs.contracts.interface.sample_requests import LESSONS


class Transfer(InterfaceFixture):
    """The part of `InterfaceContract` about receipts, copies and erasure of a space."""

    # --- receipts -------------------------------------------------------------------------------

    @needs("receipt", "verify_receipt")
    def test_a_receipt_proves_a_decision(self, memory: Interface, ids: Mapping[str, str]) -> None:
        recalled = plain(memory.recall(LESSONS["gate"], top_k=2, detail="full"))
        receipt = plain(memory.receipt(recalled["decision_id"]))
        decided, read = version_of(memory), recalled["version"]
        assert {name: receipt[name] for name in ("decision_id", "version", "read_version")} == {
            "decision_id": recalled["decision_id"],
            "version": decided,
            "read_version": read,
        }
        answer = [(row["block_id"], row["score"]) for row in receipt["answer"]]
        assert answer == [
            (block["id"], round(block["composite_score"] * 1e9)) for block in recalled["blocks"]
        ]
        assert receipt["answer_digest"] == recalled["digest"]
        assert LESSONS["gate"] not in json.dumps(receipt)

        memory.forget(ids["gate"])
        checked = plain(memory.verify_receipt(receipt, replay=True))
        assert checked == {
            "decision_id": recalled["decision_id"],
            "verdict": "confirmed",
            "space": "default",
            "differences": [],
            "problem": None,
            "replayed": "reproduced",
            "holds": True,
        }
        assert plain(memory.receipt(recalled["decision_id"])) == receipt

    @needs("receipt", "verify_receipt")
    def test_a_forged_receipt_is_rejected_in_every_field(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        receipt = plain(memory.receipt(plain(memory.recall(LESSONS["gate"]))["decision_id"]))
        forged = [{"block_id": ids["tea"], "score": 999_999_999}, *receipt["answer"][1:]]
        found = plain(memory.verify_receipt({**receipt, "answer": forged, "chain": "0" * 64}))
        assert (found["verdict"], found["holds"], found["replayed"]) == ("differs", False, None)
        claimed = {each["field"]: each["claimed"] for each in found["differences"]}
        assert (sorted(claimed), claimed["chain"]) == (["answer", "chain"], "0" * 64)
        foreign = plain(memory.verify_receipt({**receipt, "genesis": "0" * 64}))
        beyond = plain(memory.verify_receipt({**receipt, "version": 999, "decision_id": "d999"}))
        assert (foreign["holds"], beyond["holds"], beyond["verdict"]) == (
            False,
            False,
            "log-behind-receipt",
        )
        with pytest.raises(MnemicError) as refused:
            memory.verify_receipt({**receipt, "words": "of my own"})
        assert (refused.value.code, bool(refused.value.recovery)) == ("field-refused", True)

    # --- exports --------------------------------------------------------------------------------

    @needs("export", "import_space", "space")
    def test_an_export_can_be_imported(
        self,
        memory: Interface,
        ids: Mapping[str, str],
        opened: Callable[..., Interface],
        setting: Setting,
    ) -> None:
        file, head = setting.folder / "out.jsonl", version_of(memory)
        exported = plain(memory.export(file))
        result = {name: exported[name] for name in ("space", "version", "events", "words")}
        assert result == {"space": "default", "version": head, "events": head + 1, "words": True}
        assert exported["chain"] == plain(memory.verify())["head"]
        imported = plain(memory.import_space(file, self.store(setting), space="second"))
        assert imported == {
            "space": "second",
            "version": head,
            "chain": exported["chain"],
            "events": head + 1,
            "payloads": exported["payloads"],
            "erasures": [],
            "exported_as": "default",
        }
        second = opened(space="second")
        assert plain(second.block(ids["tea"])) == plain(memory.block(ids["tea"]))
        assert plain(second.verify())["head"] == exported["chain"]
        with pytest.raises(MnemicError) as refused:
            memory.import_space(file, self.store(setting), space="second")
        assert (refused.value.code, bool(refused.value.recovery)) == ("space-exists", True)

    @needs("export", "import_space", "import_space.actor", "space", "log", "progress")
    def test_an_import_does_not_restore_erased_blocks(
        self,
        memory: Interface,
        ids: Mapping[str, str],
        opened: Callable[..., Interface],
        setting: Setting,
    ) -> None:
        file, version = setting.folder / "out.jsonl", version_of(memory)
        memory.erase(ids["tea"])
        memory.export(file, upto=version)
        steps: list[tuple[int, int]] = []
        imported = plain(
            memory.import_space(
                file,
                self.store(setting),
                space="second",
                actor="porter",
                progress=lambda done, todo: steps.append((done, todo)),
            )
        )
        assert (imported["version"], imported["erasures"]) == (version, [ids["tea"]])
        assert steps[-1][0] == steps[-1][1] > 0
        second = opened(space="second")
        assert plain(second.block(ids["tea"]))["content"] is None
        added = plain(second.log(after=version, limit=9))
        assert [(each["kind"], each["actor"]) for each in added] == [("block-erased", "porter")]

    @needs("export")
    @pytest.mark.usefixtures("ids")
    def test_an_export_can_end_early_and_omit_texts(
        self, memory: Interface, tmp_path: Path
    ) -> None:
        file = tmp_path / "out.jsonl"
        exported = plain(memory.export(file, upto=3, words=False))
        result = {name: exported[name] for name in ("version", "words", "vectors_path")}
        assert result == {"version": 3, "words": False, "vectors_path": None}
        assert LESSONS["gate"] not in file.read_text("utf-8")
        before = file.read_bytes()
        with pytest.raises(MnemicError) as refused:
            memory.export(file)
        assert (refused.value.code, bool(refused.value.recovery)) == ("field-refused", True)
        assert file.read_bytes() == before

    # --- forks ----------------------------------------------------------------------------------

    @needs("fork", "space")
    def test_a_fork_shares_the_past_and_then_diverges(
        self, memory: Interface, ids: Mapping[str, str], opened: Callable[..., Interface]
    ) -> None:
        version = version_of(memory)
        memory.forget(ids["tea"])
        result = plain(memory.fork("trial", version=version))
        assert {name: result[name] for name in ("space", "version", "events", "forked_from")} == {
            "space": "trial",
            "version": version,
            "events": version + 1,
            "forked_from": "default",
        }
        trial = opened(space="trial")
        assert plain(trial.block(ids["tea"]))["status"] == "active"
        assert plain(trial.verify())["head"] == result["chain"]
        trial.forget(ids["gate"])
        assert plain(memory.block(ids["gate"]))["status"] == "active"
        with pytest.raises(MnemicError) as refused:
            memory.fork("trial")
        assert (refused.value.code, bool(refused.value.recovery)) == ("space-exists", True)

    @needs("fork", "clock", "start_session")
    def test_a_fork_begins_at_any_point_and_in_another_store(
        self, memory: Interface, ids: Mapping[str, str], setting: Setting
    ) -> None:
        memory.start_session()
        decision = plain(memory.recall(LESSONS["gate"]))
        head = version_of(memory)
        at = plain(memory.status())["recorded_at"]
        points: dict[str, dict[str, Any]] = {
            "of-hour": {"hour": 0.0},
            "of-instant": {"at": at},
            "of-decision": {"decision": decision["decision_id"]},
            "of-now": {},
        }
        versions = {
            name: plain(memory.fork(name, **point))["version"] for name, point in points.items()
        }
        assert versions == {
            "of-hour": head,
            "of-instant": head,
            "of-decision": decision["version"],
            "of-now": head,
        }
        self.skip_without("fork.into")
        elsewhere = setting.folder / "elsewhere.db"
        result = plain(memory.fork("default", into=elsewhere))
        assert (result["into"], result["version"]) == (str(elsewhere), head)
        assert plain(memory.block(ids["tea"]))["status"] == "active"

    @needs("add", "re_extract", "adopt_extraction")
    def test_messages_are_read_again_on_a_fork_and_adopted(self, memory: Interface) -> None:
        said = {"role": "user", "name": "Ines", "content": "I live in Graz."}
        added = plain(memory.add([said], extract="rules"))
        (fact,) = added["extraction"]["facts"]
        lost = {
            "before_id": fact["block_id"],
            "before": "I live in Graz.",
            "after_id": None,
            "after": None,
        }
        version = version_of(memory)
        shown = plain(memory.re_extract("none", "trial", since="1970-01-01", until="2999-01-01"))
        assert (shown["status"], shown["read"], shown["base_version"]) == ("done", 1, version)
        assert (shown["lost"], shown["gained"], shown["changed"]) == ([lost], [], [])
        assert version_of(memory) == version
        adopted = plain(memory.adopt_extraction("trial"))
        assert (adopted["action"], adopted["lost"]) == ("adopted", [lost])
        assert plain(memory.block(fact["block_id"]))["status"] == "archived"
        assert plain(memory.adopt_extraction("trial"))["action"] == "nothing"

    # --- erasure --------------------------------------------------------------------------------

    @needs("erase_space")
    def test_a_space_is_erased_as_a_whole(self, memory: Interface, ids: Mapping[str, str]) -> None:
        before = version_of(memory)
        receipt = plain(memory.erase_space("default"))
        assert receipt == {
            "block_ids": [],
            "version": before + 1,
            "chain": plain(memory.verify())["head"],
            "facts": [],
            "kept": [],
            "left": [],
        }
        assert plain(memory.erase_space("default")) == receipt
        assert plain(memory.block(ids["tea"]))["content"] is None
        gone: tuple[Callable[[], Any], ...] = (
            lambda: memory.learn("the lamp is new"),
            lambda: memory.recall(LESSONS["gate"]),
        )
        for ask in gone:
            with pytest.raises(MnemicError) as refused:
                ask()
            assert (refused.value.code, bool(refused.value.recovery)) == ("space-erased", True)
        assert plain(memory.verify())["sound"]
