"""The wheel and the source distribution, as they would be installed.

The packages that mnemic needs are taken from the environment of the tests, without its editable
installation: ``-S`` leaves out what ``.pth`` files add. ``make smoke`` also installs them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.extended

ROOT = Path(__file__).parents[2]
LAYERS = ("adapters", "kernel", "projections", "specs")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and the source distribution, without build isolation or network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel_names(distributions: Path) -> list[str]:
    """Return the names of the files in the wheel."""
    (wheel,) = distributions.glob("*.whl")
    with ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def unexpected_tops(names: list[str]) -> list[str]:
    """Return what a wheel of *names* would add besides ``mnemic`` and its metadata."""
    tops = {name.partition("/")[0] for name in names}
    return sorted(top for top in tops if top != "mnemic" and not top.endswith(".dist-info"))


def test_the_wheel_adds_only_mnemic_to_site_packages(wheel_names: list[str]) -> None:
    assert unexpected_tops(wheel_names) == []


def test_a_stray_top_level_name_in_a_wheel_is_found() -> None:
    names = [
        "mnemic/kernel/events/__init__.py",
        "mnemic-0.1.0.dist-info/METADATA",
        "tests/test_x.py",
        "x.py",
    ]
    assert unexpected_tops(names) == ["tests", "x.py"]


def test_the_wheel_holds_the_four_packages_what_joins_them_and_a_program(
    wheel_names: list[str],
) -> None:
    inside = [name.split("/") for name in wheel_names if name.startswith("mnemic/")]
    assert sorted({parts[1] for parts in inside}) == ["__init__.py", "__main__.py", *LAYERS]


def test_the_wheel_carries_every_file_of_the_packages(wheel_names: list[str]) -> None:
    """Typed markers and the rules in TOML too, and no compiled leftovers."""
    sources = {
        path.relative_to(ROOT / layer).as_posix()
        for layer in LAYERS
        for path in (ROOT / layer / "mnemic").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert [name for name in wheel_names if name.startswith("mnemic/")] == sorted(sources)


def test_the_wheel_brings_its_licence_and_the_command(wheel_names: list[str]) -> None:
    brought = {name.partition(".dist-info/")[2] for name in wheel_names}
    assert {"licenses/LICENSE", "entry_points.txt"} <= brought


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_what_was_built_installs_and_works(distributions: Path, kind: str, tmp_path: Path) -> None:
    (built,) = distributions.glob(kind)
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--no-compile", "--quiet"]
    pip = [sys.executable, "-m", "pip", "install", *offline, "--target", str(tmp_path), str(built)]
    subprocess.run(pip, check=True)
    found = os.pathsep.join([str(tmp_path), sysconfig.get_path("purelib")])
    done = subprocess.run(
        [sys.executable, "-S", "-P", str(ROOT / "tests/architecture/installed.py")],
        env={**os.environ, "PYTHONPATH": found},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"works in {tmp_path}" in done.stdout
