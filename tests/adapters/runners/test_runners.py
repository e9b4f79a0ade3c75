"""Runners: the same rows here, on processes and on Ray; lost workers, errors, and kept rows."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from mnemic.adapters.runners import runner_named
from mnemic.adapters.runners.kept_rows import KeptRows
from mnemic.kernel.errors import FieldRefused, PolicyRefused, StoreFailed, Unavailable


@frozen
class Squares:
    """A work whose tasks are numbers; some end their worker, or fail."""

    folder: Path

    @contextmanager
    def begin(self) -> Generator[Callable[[int], Any]]:
        """Count the beginnings in a file for each, and return the function."""
        (self.folder / f"began-{os.getpid()}").touch()
        yield self._do

    def _do(self, number: int) -> Any:
        if number == KILLS and not (self.folder / "killed").exists():
            (self.folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if number == KILLS_ALWAYS:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == FAILS:
            raise PolicyRefused("not a policy: 13", field="policy")
        return {"square": number * number}


KILLS, KILLS_ALWAYS, FAILS = 7, 11, 13
ELSEWHERE = [
    pytest.param("processes", marks=pytest.mark.extended),
    pytest.param(
        "ray",
        marks=[
            pytest.mark.extended,
            pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray"),
            pytest.mark.filterwarnings("ignore"),  # Ray's own
        ],
    ),
]


@pytest.mark.parametrize("name", ["inprocess", *ELSEWHERE])
def test_every_runner_gives_the_same_rows_and_begins_once(name: str, tmp_path: Path) -> None:
    with runner_named(name, workers=2)(Squares(tmp_path)) as runner:
        for _ in range(2):
            rows = dict(runner.run(range(6)))
            assert rows == {number: {"square": number * number} for number in range(6)}
        assert list(runner.run([])) == []
        with pytest.raises(PolicyRefused, match="not a policy: 13") as refused:
            list(runner.run([FAILS]))
        assert refused.value.facts == {"field": "policy"}
    assert 1 <= len(list(tmp_path.glob("began-*"))) <= 2


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_a_killed_worker_had_not_answered_is_done_again(name: str, tmp_path: Path) -> None:
    with runner_named(name, workers=2)(Squares(tmp_path)) as runner:
        rows = dict(runner.run(range(10)))
        assert rows == {number: {"square": number * number} for number in range(10)}
        assert (tmp_path / "killed").exists()
        with pytest.raises(Unavailable, match=r"ended 3 times before|was lost"):
            list(runner.run([KILLS_ALWAYS]))


def test_unknown_runners_are_refused() -> None:
    with pytest.raises(FieldRefused, match="runner must be one of inprocess, processes, ray"):
        runner_named("threads")
    with pytest.raises(FieldRefused, match="workers must be a whole number from 1 to 1024, got 0"):
        runner_named("processes", workers=0)


@pytest.mark.skipif(find_spec("ray") is not None, reason="the extra ray is installed")
def test_without_ray_the_message_says_how_to_install_it() -> None:
    with pytest.raises(Unavailable, match="runner 'ray' needs a package") as refused:
        runner_named("ray")
    assert "[ray]" in refused.value.recovery


# --- rows -----------------------------------------------------------------------------------


def test_rows_are_kept_and_lines_cut_short_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with KeptRows(path) as rows:
        rows.keep("one", [1, None])
        rows.keep("two", {"a": "ü"})
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    with KeptRows(path) as rows:
        assert (len(rows), rows["one"], "two" in rows) == (1, [1, None], False)
        rows.keep("two", "again")
    with KeptRows(path) as rows:
        assert (rows["one"], rows["two"]) == ([1, None], "again")
    assert json.loads(path.read_text("utf-8").splitlines()[0]) == {"key": "one", "row": [1, None]}


def test_a_file_of_rows_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="cannot keep rows in"):
        KeptRows(tmp_path)
