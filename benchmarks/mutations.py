"""Measures how many changes of meaning are called the same statement, and how many of format not.

Sentences come from the docstrings of the installed packages. Each is changed in its meaning (a word
replaced or dropped, *not* inserted, two words or two names swapped, a digit changed, a mark inside
the sentence dropped, a clause added) and in its format (case of the first letter, all capitals,
white space, final mark, bullet, bold, typographic quotes, a line per sentence). No change of
meaning may be ``same`` or ``extends``: the wanted number is 0. A format change that is missed costs
a duplicate, so its share should be small; the baseline is equality of the texts without case and
white space. Names of code keep their case, so many sentences in capitals are missed on purpose.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import site
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from mnemic.kernel.statements import Statement, extends, same

SENTENCES = 12_000
MUTANTS_MIN = 50_000
SHOWN = 5
"""Printed examples of each kind of mistake."""
ARTICLE = "the"
SEED = 20_251_103
PROSE = re.compile(r"[A-Z][a-z]* [^=<>{}\\]*\w[.!?]")

Mutation = tuple[str, str]
"""Kind and text."""


# --- sentences ------------------------------------------------------------------------------


def docstrings(root: Path) -> Iterator[str]:
    """Yield the docstrings of all modules below *root*, in the order of their paths."""
    # Packages may be links, which `Path.rglob` does not follow.
    paths = (
        Path(folder, name) for folder, _, names in os.walk(root, followlinks=True) for name in names
    )
    for path in sorted(path for path in paths if path.suffix == ".py"):
        if "mnemic" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield ast.get_docstring(node) or ""


def sentences(texts: Iterator[str]) -> set[str]:
    """Return the sentences of 4 to 40 words in *texts*, each on one line.

    A sentence begins with a capital and has a final mark. Code between sentences is left out.
    """
    found: set[str] = set()
    for text in texts:
        for paragraph in text.split("\n\n"):
            line = " ".join(paragraph.split())
            for each in re.split(r"(?<=[.!?]) +(?=[A-Z])", line):
                if 4 <= len(each.split()) <= 40 and PROSE.fullmatch(each):  # noqa: PLR2004
                    found.add(each)
    return found


def chosen(roots: Sequence[Path], number: int, seed: int) -> list[str]:
    """Return *number* sentences of the packages in *roots*, always the same ones."""
    everything = sorted(set[str]().union(*(sentences(docstrings(root)) for root in roots)))
    return random.Random(seed).sample(everything, min(number, len(everything)))


# --- mutations ------------------------------------------------------------------------------


def meaning_changes(text: str, vocabulary: Sequence[str], rng: random.Random) -> Iterator[Mutation]:
    """Yield *text* with its meaning changed in one place, once for each kind that applies."""
    words = text.split()
    plain = [at for at, word in enumerate(words) if word.isalpha() and word.lower() != ARTICLE]
    if plain:
        at = rng.choice(plain)
        yield "replace a word", _with(words, at, rng.choice(vocabulary))
        at = rng.choice(plain)
        yield "drop a word", " ".join(words[:at] + words[at + 1 :])
        at = rng.choice(plain)
        yield "insert not", " ".join([*words[:at], "not", *words[at:]])
        at = rng.choice(plain)
        yield "add a clause", f"{text.rstrip('.')} {rng.choice(('only', 'except'))} {words[at]}"
    names = [at for at in plain if at and words[at][0].isupper()]
    for kind, places in (("swap words", plain), ("swap names", names)):
        if len(places) > 1:
            one, two = sorted(rng.sample(places, 2))
            yield kind, _with(words, one, words[two], two, words[one])
    numbers = [at for at, word in enumerate(words) if re.search("[0-9]", word)]
    if numbers:
        at = rng.choice(numbers)
        digit = rng.choice([match.start() for match in re.finditer("[0-9]", words[at])])
        other = str((int(words[at][digit]) + rng.randint(1, 9)) % 10)
        yield "change a digit", _with(words, at, words[at][:digit] + other + words[at][digit + 1 :])
    marks = [match.start() for match in re.finditer(r"""[^\w\s.!?*](?=.*\w)""", text)]
    if marks:
        at = rng.choice(marks)
        yield "drop a mark", text[:at] + text[at + 1 :]


def _with(words: Sequence[str], *changes: int | str) -> str:
    """Return *words* as a text, with the words at some places replaced: place, word, ..."""
    changed = list(words)
    for at, word in zip(changes[::2], changes[1::2], strict=True):
        assert isinstance(at, int)
        assert isinstance(word, str)
        changed[at] = word
    return " ".join(changed)


def format_changes(text: str) -> Iterator[Mutation]:
    """Yield *text* in other formats."""
    yield "first letter", text[0].swapcase() + text[1:]
    yield "all capitals", text.upper()
    yield "white space", f"  {text.replace(' ', '  ')}\t"
    yield "final mark", text.rstrip(".") if text.endswith(".") else f"{text}."
    yield "bullet", f"- {text}"
    yield "bold", f"**{text}**"
    yield "line break", text.replace(". ", ".\n")
    if "'" in text or '"' in text:
        yield "typographic quotes", re.sub(r'"(\w[^"]*)"', r"“\1”", text.replace("'", "’"))


def is_changed(text: str, mutant: str) -> bool:
    """Whether a change of meaning happened at all: a swap of equal words is none."""
    return _bare(text) != _bare(mutant)


def _bare(text: str) -> str:
    return " ".join(text.casefold().split())


# --- the program ----------------------------------------------------------------------------


def measured(texts: Sequence[str], seed: int) -> int:
    """Print the table of all kinds, with examples of mistakes; return the changes called same."""
    rng = random.Random(seed)
    vocabulary = sorted({word for text in texts for word in text.split() if word.isalpha()})
    counts: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    baseline: Counter[str] = Counter()
    for text in texts:
        statement = Statement.of(text)
        for kind, mutant in meaning_changes(text, vocabulary, rng):
            if not is_changed(text, mutant):
                continue
            counts[kind] += 1
            other = Statement.of(mutant)
            if same(statement, other) or extends(statement, other):
                wrong[kind] += 1
                _show(wrong[kind], kind, text, mutant)
        for kind, variant in format_changes(text):
            name = f"format: {kind}"
            counts[name] += 1
            baseline[name] += is_changed(text, variant)
            if not same(statement, Statement.of(variant)):
                wrong[name] += 1
                _show(wrong[name], name, text, variant)
    return _report(counts, wrong, baseline)


def _show(number: int, kind: str, text: str, mutant: str) -> None:
    if number <= SHOWN:
        print(f"{kind}\n    {text}\n    {mutant!r}", file=sys.stderr)


def _report(counts: Counter[str], wrong: Counter[str], baseline: Counter[str]) -> int:
    """Print the table; return how many changes of meaning were called the same."""
    meaning = [kind for kind in counts if not kind.startswith("format: ")]
    formats = [kind for kind in counts if kind.startswith("format: ")]
    print(f"{'change of meaning':30}{'mutants':>10}{'called same':>14}")
    for kind in meaning:
        print(f"{kind:30}{counts[kind]:>10,}{wrong[kind]:>14,}")
    total, mistakes = sum(counts[kind] for kind in meaning), sum(wrong[kind] for kind in meaning)
    print(f"{'all':30}{total:>10,}{mistakes:>14,}   (wanted: 0)\n")
    print(f"{'change of format':30}{'variants':>10}{'missed':>14}{'by equality':>14}")
    for kind in formats:
        shares = (wrong[kind] / counts[kind], baseline[kind] / counts[kind])
        print(f"{kind:30}{counts[kind]:>10,}" + "".join(f"{share:>14.2%}" for share in shares))
    if total < MUTANTS_MIN:
        print(f"Only {total:,} mutants: the result means little below {MUTANTS_MIN:,}.")
    return mistakes


def main() -> None:
    """Choose sentences, change them, and count what the rules say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sentences", type=int, default=SENTENCES, help=f"how many (default: {SENTENCES:,})")
    add("--seed", type=int, default=SEED, help="of the choice of sentences and of the changes")
    add("--packages", type=Path, action="append", help="folder of sources (default: site-packages)")
    options = parser.parse_args()
    roots = options.packages or [Path(folder) for folder in site.getsitepackages()]
    mistakes = measured(chosen(roots, options.sentences, options.seed), options.seed)
    if mistakes:
        raise SystemExit(f"{mistakes} changes of meaning were called the same.")


if __name__ == "__main__":
    main()
