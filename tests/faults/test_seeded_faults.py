"""Seeded faults: tests that do not detect these would not detect real ones either.

Each fault of ``faults.toml`` changes one line in a copy of the package that holds it. The copy goes
before the real one on the module path of a process of its own, which runs the tests that the fault
names; every one of them has to fail. On a copy without a fault the first of each passes, which
shows that it is the fault that they find.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from attrs import field, frozen
from attrs.validators import min_len

pytestmark = pytest.mark.extended

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LAYERS = ("kernel", "projections")


@frozen(kw_only=True)
class Fault:
    """A line, its faulty replacement, and the tests that detect it."""

    name: str
    says: str = field(validator=min_len(1))
    file: str
    line: str
    instead: str
    caught_by: tuple[str, ...] = field(converter=tuple, validator=min_len(1))

    def __str__(self) -> str:
        return self.name

    def seed(self, folder: Path) -> None:
        """Change the line in a copy of the layers."""
        layer, _, inside = self.file.partition("/")
        assert layer in LAYERS
        path = folder / inside
        text = path.read_text(encoding="utf-8")
        assert text.count(self.line) == 1, f"{self.file} has no single line {self.line!r}"
        path.write_text(text.replace(self.line, self.instead), encoding="utf-8")


FAULTS = tuple(
    Fault(name=name, **body)
    for name, body in tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8")).items()
)


def copy(folder: Path) -> None:
    """Copy the layers in which faults are seeded."""
    for layer in LAYERS:
        source = ROOT / layer / "mnemic" / layer
        compiled = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / "mnemic" / layer, ignore=compiled)


def failures(tests: Iterable[str], folder: Path) -> list[str]:
    """Run tests on the layers in *folder*, and return which of them failed."""
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    quietly = ("-q", "--tb=no", "-rfE", "-p", "no:cacheprovider")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *quietly, *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "HYPOTHESIS_PROFILE": "faults"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in {0, 1}, run.stdout + run.stderr
    answer = (line.partition(" ") for line in run.stdout.splitlines())
    return sorted(
        rest.partition(" - ")[0] for word, _, rest in answer if word in {"FAILED", "ERROR"}
    )


def test_without_a_fault_the_tests_pass(tmp_path: Path) -> None:
    copy(tmp_path)
    assert failures(sorted({fault.caught_by[0] for fault in FAULTS}), tmp_path) == []


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_every_fault_is_detected(fault: Fault, tmp_path: Path) -> None:
    copy(tmp_path)
    fault.seed(tmp_path)
    assert failures(fault.caught_by, tmp_path) == sorted(fault.caught_by)
