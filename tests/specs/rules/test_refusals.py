from __future__ import annotations

import inspect
from collections.abc import Generator
from pathlib import Path

import pytest

from mnemic.kernel import errors
from mnemic.kernel.errors import Conflict, Corrupt, MnemicError, Refused, Unavailable
from mnemic.specs.rules import Row, rows
from tests.specs.rules.refusal_scenes import SCENES
from tests.specs.rules.scenario_steps import Stage

FAMILIES = (Refused, Conflict, Corrupt, Unavailable)


def known() -> Generator[type[MnemicError]]:
    """Yield every error class except the families."""
    for _, found in inspect.getmembers(errors, inspect.isclass):
        if issubclass(found, MnemicError) and found not in {MnemicError, *FAMILIES}:
            yield found


@pytest.mark.parametrize("row", rows("refusals.code"), ids=str)
def test_a_refusal_has_a_code_a_status_and_a_recovery(row: Row) -> None:
    error: type[MnemicError] = getattr(errors, row.given["error"])
    (family,) = (one for one in FAMILIES if issubclass(error, one))
    raised = error("something is wrong")
    answer = {"code": error.code, "status": error.status, "family": family.__name__}
    assert answer == row.then
    assert raised.recovery[0].isupper()
    assert raised.recovery.endswith(".")
    assert raised.to_dict()["recovery"] == raised.recovery


@pytest.mark.parametrize("row", rows("refusals.provoked"), ids=str)
def test_a_refused_operation_changes_nothing(row: Row, tmp_path: Path) -> None:
    if "scene" in row.given:
        with SCENES[row.given["scene"]](tmp_path / "agent.db") as ask:
            with pytest.raises(MnemicError) as caught:
                ask()
            assert (caught.value.code, bool(caught.value.recovery)) == (row.then["code"], True)
        return
    stage, (*before, (operation, *words)) = Stage(row), row.given["steps"]
    for step in before:
        assert not isinstance(stage.play([step]), Refused)
    options = words.pop() if words and isinstance(words[-1], dict) else {}
    head = stage.space.log.head()
    with pytest.raises(MnemicError) as refused:
        stage.step(operation, *words, **options)
    assert (refused.value.code, bool(refused.value.recovery)) == (row.then["code"], True)
    assert stage.space.log.head() == head


def test_every_refusal_has_a_row_and_a_code_of_its_own() -> None:
    assert sorted(row.given["error"] for row in rows("refusals.code")) == sorted(
        error.__name__ for error in known()
    )
    codes = [row.then["code"] for row in rows("refusals.code")]
    assert len(set(codes)) == len(codes)


def test_every_refusal_is_provoked_by_a_row_and_every_scene_is_played() -> None:
    provoked = rows("refusals.provoked")
    codes = {row.then["code"] for row in rows("refusals.code")}
    assert {row.then["code"] for row in provoked} == codes
    assert {row.given["scene"] for row in provoked if "scene" in row.given} == set(SCENES)
