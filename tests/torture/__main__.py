"""``python -m tests.torture``: runs every campaign of faults against a store.

Prints what each campaign found, and exits with 1 if any failed. ``make torture`` runs all of it
and puts the figures into docs/safety.md.
"""
# ruff: noqa: T201 - it reports on the terminal

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.torture.campaigns import campaigns
from tests.torture.figures import Effort
from tests.torture.page import written

SHORT = 0.02


def main(arguments: Sequence[str] | None = None) -> int:
    """Run campaigns and print what they found."""
    options = _options(arguments)
    found: dict[str, dict[str, Any]] = {}
    failed = False
    for name in options.only or sorted(campaigns()):
        begun = time.monotonic()
        print(f"== {name}", flush=True)
        effort = Effort(share=options.share, seed=options.seed, tell=_tell)
        with tempfile.TemporaryDirectory(prefix="mnemic-torture-") as folder:
            figures = campaigns()[name](Path(folder), effort)
        found[name] = figures.to_dict() | {
            "share": options.share,
            "seed": options.seed,
            "day": datetime.now(tz=UTC).date().isoformat(),
            "seconds": round(time.monotonic() - begun, 1),
        }
        failed |= bool(figures.failures)
        _show(found[name])
    report = _report(_known(options.json) | found)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.write is not None:
        page = options.write.read_text(encoding="utf-8")
        options.write.write_text(written(page, report), encoding="utf-8")
    return 1 if failed else 0


def _known(path: Path | None) -> dict[str, Any]:
    """Return the results of other campaigns in the file of figures, if there is one."""
    if path is None or not path.exists():
        return {}
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["campaigns"]
    return known


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="CAMPAIGN", help="these; all if none is named")
    parser.add_argument("--share", type=float, default=1.0, help="of each campaign (1.0: all)")
    parser.add_argument("--short", dest="share", action="store_const", const=SHORT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--json",
        type=Path,
        help="write what was found to this file; of other campaigns it keeps what it has",
    )
    parser.add_argument("--write", type=Path, help="put the figures into this page")
    options = parser.parse_args(arguments)
    if not 0 < options.share <= 1:
        parser.error("--share is above 0 and at most 1")
    unknown = set(options.only) - set(campaigns())
    if unknown:
        parser.error(f"no such campaign: {', '.join(sorted(unknown))}")
    return options


def _report(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "campaigns": dict(found),
    }


def _tell(line: str) -> None:
    print(f"   {line}", flush=True)


def _show(found: Mapping[str, Any]) -> None:
    print(f"   {found['promise']} ({found['seconds']} s)")
    for name, value in found["facts"].items():
        print(f"   {value:>12} {name}")
    for failure in found["failures"]:
        print(f"   FAILED {failure}")


if __name__ == "__main__":
    sys.exit(main())
