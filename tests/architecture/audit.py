"""``python -m tests.architecture.audit``: is any installed package known to be vulnerable?

Asks pip-audit about everything in this environment but mnemic itself; options are passed on. Its
exit code is 0 if all packages were looked up and none is known to be vulnerable, 1 if one is, and 3
if some could not be looked up: pip-audit passes those over and calls the rest clean, and without a
network that would be all of them.
"""
# ruff: noqa: T201 - it reports on the terminal

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

CLEAN, VULNERABLE, UNKNOWN = 0, 1, 3
ASKED = ("--local", "--skip-editable")
PROGRAM = ("--format", "json", "--progress-spinner", "off", "--desc", "off")


@frozen(kw_only=True)
class Verdict:
    """The result of an audit for every package."""

    code: int
    lines: tuple[str, ...]


def verdict(report: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a report of pip-audit.

    Args:
        report: Its JSON.
    """
    asked = [
        each for each in report["dependencies"] if "editable" not in each.get("skip_reason", "")
    ]
    skipped = [each for each in asked if "skip_reason" in each]
    known = [each for each in asked if each.get("vulns")]
    lines = [
        f"{each['name']} {each['version']}: {flaw['id']}, mended in "
        f"{', '.join(flaw['fix_versions']) or 'no release yet'}"
        for each in known
        for flaw in each["vulns"]
    ]
    lines += [f"{each['name']}: not audited: {each['skip_reason']}" for each in skipped]
    lines.append(
        f"{len(asked)} packages: {len(known)} known to be vulnerable, {len(skipped)} not audited"
    )
    code = VULNERABLE if known else UNKNOWN if skipped or not asked else CLEAN
    return Verdict(code=code, lines=tuple(lines))


def main(options: Sequence[str]) -> int:
    """Run pip-audit, and print its findings.

    Args:
        options: For pip-audit; empty: audit this environment.
    """
    audit = subprocess.run(
        [sys.executable, "-m", "pip_audit", *PROGRAM, *(options or ASKED)],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = verdict(json.loads(audit.stdout))
    except (ValueError, KeyError):
        reason = audit.stderr.strip().splitlines()
        print(f"nothing was audited: {reason[-1] if reason else 'pip-audit said nothing'}")
        return UNKNOWN
    print("\n".join(found.lines))
    return found.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
