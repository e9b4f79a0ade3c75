"""Texts of numbers, names, negators, marks and odd characters, for the properties of statements."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = (
    *("the", "a", "pump", "is", "not", "open", "never", "Tom", "Ida", "US", "us", "May", "may"),
    *("30", "5", "1,234", "1.2.3", "-5", "two", "30s", "90s", "€5", "10am", "4th", "s", "km", "of"),
    *("on", "Friday", "if", "after", "lunch", "don't", "she's", "can't", "No", "no", "e.g", "U.S"),
    *(
        "colour",
        "&",
        "-",
        "x[1:]",
        "f(x)",
        "**bold**",
        "*",
        "/srv/Data",
        "maxRetries",
        "ab12CD34ef",
    ),
    *(
        "Note:",
        "remember",
        "that",
        "I",
        "A",
        "The",
        "ist",
        "am",
        "3",
        "n'est",
        "pas",
        "不",
        "船",
        "ｶﾞ",
    ),
    *(
        "m²",
        "½",
        "ß",
        "İ",
        "ΟΔΟΣ",
        "👍🏽",
        "e\u0301",
        "\u200e",
        "״",
        "שלום",
        "٥",
        "#",
        "1.",
        "2024",
    ),
)
GAPS = (" ", " ", " ", " ", "  ", "\t", "\n", "\n\n", "\n- ", "\n  ", "\n# ", "\u3000", "\x85")
ENDS = ("", "", "", ".", "!", "?", ",", ":", "...", ")", '"', "”.", "。", "?!", ";", "'")
STARTS = ("", "", "", "", "(", '"', "¿", "„", "*", "«", "[")


def words() -> st.SearchStrategy[str]:
    return st.builds(
        lambda start, word, end: start + word + end,
        st.sampled_from(STARTS),
        st.sampled_from(WORDS),
        st.sampled_from(ENDS),
    )


def texts() -> st.SearchStrategy[str]:
    """Up to nine words in any order, in the case of a text, of a headline, or of neither."""
    pieces = st.lists(st.tuples(words(), st.sampled_from(GAPS)), max_size=9)
    cases = st.sampled_from((str, str, str, str.upper, str.lower, str.title))
    return st.builds(
        lambda parts, case: case("".join(word + gap for word, gap in parts)), pieces, cases
    )


def pairs() -> st.SearchStrategy[tuple[str, str]]:
    """Two texts that often differ in little: format, one word, or sentences around the first."""
    changes = (
        lambda text, other: (text, other),
        lambda text, _: (text, text.upper()),
        lambda text, _: (text, text.lower()),
        lambda text, _: (text, f"- {text}!"),
        lambda text, _: (text, text.replace(" ", "\n", 1)),
        lambda text, _: (text, text.replace("the ", "", 1)),
        lambda text, _: (text, " ".join([*text.split()[2:], *text.split()[:2]])),
        lambda text, other: (text, f"{text}. {other}"),
        lambda text, other: (text, f"{other}\n\n{text}. {other}"),
        lambda text, other: (text, text.replace(" ", f" {other} ", 1)),
    )
    return st.builds(
        lambda change, text, other: change(text, other), st.sampled_from(changes), texts(), texts()
    )
