"""Runs the tests of other projects, unchanged, against our integrations, and counts: N of M.

    python -m tests.suites FOLDER

A suite is a folder of test files in FOLDER. A plugin of pytest in ``stand_ins`` gives these files
our classes in place of theirs. ``failing.toml`` names each case that fails, with the reason; a
failure without one, or a case that is named and passes, is an error. mem0 needs no folder: see
``mem0_calls``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from tests.suites import mem0_calls

HERE = Path(__file__).parent
REASONS = HERE / "failing.toml"
SETTINGS = "[pytest]\nasyncio_mode = auto\njunit_family = xunit1\n"


@frozen
class Report:
    """The outcome of one suite, by case."""

    passed: frozenset[str]
    failed: frozenset[str]
    skipped: frozenset[str]
    log: str

    @property
    def count(self) -> int:
        return len(self.passed | self.failed | self.skipped)


def run_pytest(folder: Path, stand_in: str) -> Report:
    """Run the test files of a folder with a plugin of ``stand_ins``."""
    with tempfile.TemporaryDirectory() as place:
        settings, results = Path(place, "pytest.ini"), Path(place, "results.xml")
        settings.write_text(SETTINGS, encoding="utf-8")
        options = ["-q", "-p", "no:cacheprovider", "-p", f"stand_ins.{stand_in}"]
        options += ["-c", str(settings), "--rootdir", str(folder), "--import-mode=importlib"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, f"--junitxml={results}", str(folder)],
            check=False,
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(HERE),
                "PYTHONDONTWRITEBYTECODE": "1",
                "MNEMIC_SUITE": str(folder),
            },
        )
        if not results.exists():
            raise SystemExit(f"pytest did not run in {folder}:\n{done.stdout}{done.stderr}")
        cases = list(ET.parse(results).getroot().iter("testcase"))  # noqa: S314 - pytest wrote it
    outcome: dict[str, set[str]] = {"failure": set(), "error": set(), "skipped": set(), "": set()}
    for case in cases:
        kinds = [child.tag for child in case if child.tag in outcome]
        place = Path(case.get("file", "")).stem
        within = case.get("classname", "").rpartition(f"{place}.")[2].rpartition(".")[2]
        name = "::".join(filter(None, (place, within if within != place else "", case.get("name"))))
        outcome[kinds[0] if kinds else ""].add(name)
    failed = frozenset(outcome["failure"] | outcome["error"])
    return Report(
        passed=frozenset(outcome[""]) - failed,
        failed=failed,
        skipped=frozenset(outcome["skipped"]),
        log=done.stdout + done.stderr,
    )


def run_vitest(folder: Path) -> Report:
    """Run the tests of ``server-memory``, with a client of `mnemic mcp` in place of its graph."""
    place = HERE.parents[1] / ".tmp" / "suites-node"
    cases = place / "__tests__"
    shutil.rmtree(cases, ignore_errors=True)
    cases.mkdir(parents=True)
    for file in folder.glob("*.test.ts"):
        shutil.copy(file, cases)
    shutil.copy(HERE / "stand_ins" / "server_memory.js", place / "index.js")
    (place / "package.json").write_text('{"type": "module", "private": true}', encoding="utf-8")
    _run(place, "npm", "install", "--silent", "vitest@3", "@modelcontextprotocol/sdk@1")
    results = place / "results.json"
    options = ["--reporter=json", f"--outputFile={results}"]
    options += [f"--{each}Timeout=60000" for each in ("test", "hook")]  # each starts a process
    done = _run(place, "npx", "vitest", "run", *options, check=False)
    if not results.exists():
        raise SystemExit(f"vitest did not run in {folder}:\n{done.stdout}{done.stderr}")
    found = json.loads(results.read_text(encoding="utf-8"))["testResults"]
    outcome: dict[str, set[str]] = {"passed": set(), "failed": set(), "": set()}
    for case in (case for file in found for case in file["assertionResults"]):
        name = "::".join((*case["ancestorTitles"][1:], case["title"]))
        outcome.get(case["status"], outcome[""]).add(name)
    passed, failed, skipped = map(frozenset, outcome.values())
    return Report(passed=passed, failed=failed, skipped=skipped, log=done.stderr)


def _run(folder: Path, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command of Node in a folder; `mnemic` is that of this environment."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        command,
        cwd=folder,
        check=check,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )


RUN: Mapping[str, Callable[[Path], Report]] = {
    "langgraph-store": lambda folder: run_pytest(folder, "langgraph_store"),
    "langgraph-sqlite-store": lambda folder: run_pytest(folder, "langgraph_store"),
    "anthropic-memory-tool": lambda folder: run_pytest(folder, "anthropic_memory_tool"),
    "mcp-server-memory": run_vitest,
    "openai-agents-session": lambda folder: run_pytest(folder, "openai_agents_session"),
    "google-adk-memory": lambda folder: run_pytest(folder, "google_adk_memory"),
}
"""How the suite in each folder is run."""


def main(folder: Path) -> int:
    """Run the suites that are in *folder*, and return the exit code."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    found = [name for name in RUN if (folder / name).is_dir()]
    unexpected = 0
    for name in found:
        report = RUN[name]((folder / name).resolve())
        known = {case: each["why"] for each in reasons.get(name, ()) for case in each["cases"]}
        print(f"{name}: {len(report.passed)} of {report.count}")  # noqa: T201
        for case in sorted(report.failed | report.skipped):
            print(f"  {case}: {known.get(case, 'NOT EXPLAINED')}")  # noqa: T201
        wrong = (report.failed | report.skipped) ^ frozenset(known)
        for case in sorted(wrong & frozenset(known)):
            print(f"  {case} is explained in {REASONS.name}, and does not fail")  # noqa: T201
        if wrong:
            print(report.log[-4000:])  # noqa: T201
        unexpected += len(wrong)
    unexpected += mem0_calls.main()
    if not found:
        print(f"no suite in {folder}; there are: {', '.join(RUN)}")  # noqa: T201
    return int(unexpected > 0 or not found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
