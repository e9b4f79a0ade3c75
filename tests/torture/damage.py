"""Campaign: bytes are flipped and files cut, everywhere, and no difference may go unreported."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import Corrupt, MnemicError
from mnemic.kernel.results import Receipt
from tests.torture import checker
from tests.torture.checker import Look, Named, Seen
from tests.torture.figures import Effort, Figures
from tests.torture.file_faults import spread
from tests.torture.samples import EMBEDDER, EXPORT, NAME, Sample, sample

PAGE_BYTES: Final = 4096
HEAD_BYTES: Final = 120
"""Of a page or file, where a changed byte has most effect: every third flip is there."""
PROBES: Final = 250
"""Of one job."""
SAVED_EVERY: Final = 10
"""How often the events before the damage are salvaged, to see that it is possible."""
SPEED: Final = Path("/dev/shm")  # noqa: S108 - a folder in memory, where there is one


STORE: Final = (NAME, f"{NAME}-wal")
HEADS: Final = f"{NAME}.heads"
"""Watermarks of the logs; without them only a receipt shows that commits are lost."""


@frozen(kw_only=True)
class Region:
    """One file of the sample, and how its damage shows."""

    name: str
    live: bool = False
    """Whether it belongs to the store that a killed writer left."""
    file: str
    """May hold a star."""
    look: Look = checker.store
    opens: str = NAME
    """What is opened then."""
    needs: tuple[str, ...] = (*STORE, HEADS)
    """The files that have to be there; may hold stars."""
    flips: int
    cuts: int


REGIONS: Final = (
    Region(name="database", file=NAME, flips=11_000, cuts=250),
    Region(name="database of the killed", live=True, file=NAME, flips=2_000, cuts=100),
    Region(name="write-ahead log", live=True, file=f"{NAME}-wal", flips=3_000, cuts=300),
    Region(
        name="write-ahead log without heads",
        live=True,
        file=f"{NAME}-wal",
        needs=STORE,
        flips=500,
        cuts=50,
    ),
    Region(name="heads", live=True, file=HEADS, flips=300, cuts=50),
    Region(
        name="checkpoint",
        file=f"{NAME}.checkpoints/*.checkpoint",
        look=checker.checkpoint,
        needs=(NAME, f"{NAME}.checkpoints/*"),
        flips=500,
        cuts=50,
    ),
    Region(
        name="arrays of checkpoints",
        file=f"{NAME}.checkpoints/*.arrays",
        look=checker.checkpoint,
        needs=(NAME, f"{NAME}.checkpoints/*"),
        flips=1_000,
        cuts=100,
    ),
    Region(
        name="graph",
        file=f"{NAME}.checkpoints/*.graph",
        look=checker.graph,
        needs=(NAME, f"{NAME}.checkpoints/*"),
        flips=500,
        cuts=50,
    ),
    Region(
        name="export",
        file=EXPORT,
        look=checker.export,
        opens=EXPORT,
        needs=(f"{EXPORT}*",),
        flips=1_200,
        cuts=100,
    ),
    Region(
        name="vectors of the export",
        file=f"{EXPORT}.vectors",
        look=checker.export,
        opens=EXPORT,
        needs=(f"{EXPORT}*",),
        flips=300,
        cuts=50,
    ),
    Region(
        name="tokens",
        file=f"{NAME}.tokens",
        look=checker.tokens,
        opens=f"{NAME}.tokens",
        needs=(f"{NAME}.tokens",),
        flips=500,
        cuts=50,
    ),
)


@frozen(kw_only=True)
class Harm:
    """One change of one file."""

    offset: int
    mask: int
    """What the byte there is combined with; 0: the file ends there."""

    def done_to(self, data: bytes) -> bytes:
        """Return the bytes with the damage done."""
        if not self.mask:
            return data[: self.offset]
        changed = bytes([data[self.offset] ^ self.mask])
        return data[: self.offset] + changed + data[self.offset + 1 :]


@frozen(kw_only=True)
class Job:
    """Some harms, done one after the other to fresh copies."""

    sample: Sample
    region: Region
    harms: tuple[Harm, ...]


@define(kw_only=True)
class Findings:
    """Results by region and verdict."""

    counts: Counter[tuple[str, str]] = field(factory=Counter)
    wrong: list[str] = field(factory=list)


def campaign(folder: Path, effort: Effort) -> Figures:
    """Damage every file of a small store everywhere, and check whether it is detected."""
    made = sample(folder / "sample")
    jobs = [job for region in REGIONS for job in _jobs(made, region, effort)]
    counts: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    for found in spread(suffer, jobs):
        counts.update(found.counts)
        wrong += found.wrong
    cut = sum(n for (_, verdict), n in counts.items() if verdict == "tail lost")
    harms = [harm for job in jobs for harm in job.harms]
    flips = sum(bool(harm.mask) for harm in harms)
    total: Counter[str] = Counter()
    for (_, verdict), n in counts.items():
        total[verdict] += n
    return Figures(
        promise="Damage is reported or has no effect; no answer is computed from damaged bytes.",
        facts={
            "bytes flipped": flips,
            "cuts": len(harms) - flips,
            "detected and named": total["named"],
            "refused in other words": total["refused"],
            "derived files passed over": total["passed over"],
            "harmless": total["harmless"],
            "commits lost where no heads stood beside": cut,
            "of these shown by a receipt": total["receipt shows it"],
            "undetected": total["undetected"],
            "prefixes looked for": total["prefix tried"],
            "of these read exactly": total["prefix read"],
            "of these read with words missing": total["prefix read in part"],
            "of these exported": total["prefix exported"],
            "by region": "; ".join(_by_region(counts)),
        },
        failures=tuple(wrong),
    )


def _by_region(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    for region in REGIONS:
        verdicts = ("named", "refused", "passed over", "harmless", "tail lost", "undetected")
        found = [(verdict, counts[region.name, verdict]) for verdict in verdicts]
        yield f"{region.name}: " + ", ".join(f"{n} {verdict}" for verdict, n in found if n)


def _jobs(made: Sample, region: Region, effort: Effort) -> Iterator[Job]:
    size = _file(made, region).stat().st_size
    chance = random.Random(f"{effort.seed} {region.name}")
    harms = [_flip(chance, size) for _ in range(effort.of(region.flips))]
    harms += [Harm(offset=_place(chance, size), mask=0) for _ in range(effort.of(region.cuts))]
    for start in range(0, len(harms), PROBES):
        yield Job(sample=made, region=region, harms=tuple(harms[start : start + PROBES]))


def _flip(chance: random.Random, size: int) -> Harm:
    mask = chance.choice([1 << chance.randrange(8), chance.randrange(1, 256)])
    return Harm(offset=_place(chance, size), mask=mask)


def _place(chance: random.Random, size: int) -> int:
    """Return some place in a file; every third at the beginning of a page."""
    if chance.random() > 1 / 3:
        return chance.randrange(size)
    page = chance.randrange(-(-size // PAGE_BYTES))
    return min(page * PAGE_BYTES + chance.randrange(HEAD_BYTES), size - 1)


def _file(made: Sample, region: Region) -> Path:
    folder = made.live if region.live else made.closed
    return min(folder.glob(region.file))


# --- one harm after the other -------------------------------------------------------------------


def suffer(job: Job) -> Findings:
    """Apply each damage to a fresh copy, and judge what is read then."""
    found = Findings()
    with tempfile.TemporaryDirectory(dir=SPEED if SPEED.is_dir() else None) as name:
        victim = _Victim(job, Path(name))
        for number, harm in enumerate(job.harms):
            verdicts = victim.suffer(harm, saving=number % SAVED_EVERY == 0)
            found.counts.update((job.region.name, verdict) for verdict in verdicts)
            if not {"crash", "undetected"}.isdisjoint(verdicts):
                found.wrong.append(f"{job.region.name}, {harm}: {', '.join(verdicts)}")
    return found


class _Victim:
    """The files of a sample, whole again before each harm."""

    def __init__(self, job: Job, folder: Path) -> None:
        made, region = job.sample, job.region
        self._folder = folder
        self._region = region
        self._receipt = made.receipt
        source = made.live if region.live else made.closed
        self._files = {
            file.relative_to(source): file.read_bytes()
            for pattern in region.needs
            for file in source.glob(pattern)
        }
        self._harmed = _file(made, region).relative_to(source)
        self._opened = folder / "copy" / region.opens
        self._lay_out()
        self._whole = region.look(self._opened)

    def _lay_out(self, harm: Harm | None = None) -> None:
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        for name, data in self._files.items():
            file = copy / name
            file.parent.mkdir(parents=True, exist_ok=True)
            is_harmed = harm is not None and name == self._harmed
            file.write_bytes(harm.done_to(data) if harm is not None and is_harmed else data)
            file.chmod(0o600)

    def suffer(self, harm: Harm, *, saving: bool) -> Sequence[str]:
        self._lay_out(harm)
        try:
            seen = self._region.look(self._opened)
        except (Corrupt, Named):
            return ["named", *self._saved(harm)] if saving else ["named"]
        except MnemicError:
            return ["refused", *self._saved(harm)] if saving else ["refused"]
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no word of ours
            return ["crash", repr(error)]
        return self._judged(seen)

    def _judged(self, seen: Seen) -> Sequence[str]:
        if seen == self._whole:
            return ["harmless"]
        if "taken up" in seen and seen["state"] == self._whole["state"]:
            return ["passed over"]
        if self._region.needs == STORE and checker.is_earlier(seen, self._whole):
            return ["tail lost", *self._shown(self._receipt)]
        return ["undetected"]

    def _shown(self, receipt: Receipt) -> Sequence[str]:
        """Say whether a receipt that was kept elsewhere shows that its decision is gone."""
        with SyncMemory.open(self._opened, embedder=EMBEDDER, checkpoints=False) as memory:
            check = memory.verify_receipt(receipt)
        return [] if check.holds else ["receipt shows it"]

    def _saved(self, harm: Harm) -> Sequence[str]:
        """Say whether what stands before the damage can be read, and taken out of the file."""
        if self._region.look is not checker.store:
            return []
        self._lay_out(harm)
        done = ["prefix tried"]
        try:
            done.extend(checker.prefix(self._opened, self._whole, self._folder / "copy" / "saved"))
        except MnemicError:
            pass
        except AssertionError as error:
            return [str(error), "undetected"]
        return done
