"""Java's regular expressions."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.server.security import java_regex
from doorkeeper.server.security.java_regex import TIME_LIMIT_S, JavaPattern, PatternError
from doorkeeper.server.security.java_regex_parsing import translate
from testkit.edge import Clock

CASES = [
    # The end is before the last line end, of any kind.
    ("a$", "a\n", "find", True),
    ("a$", "a\u2028", "find", True),
    ("a$", "a\n\n", "find", False),
    (r"a\z", "a\n", "find", False),
    (r"a\Z", "a\r\n", "find", True),
    # A dot is no line end of Java's.
    ("a.b", "a\u0085b", "matches", False),
    ("(?s)a.b", "a\nb", "matches", True),
    # Classes, and case, are ASCII's.
    (r"\w+", "é", "matches", False),
    (r"\d", "\u0663", "matches", False),
    ("(?i)k", "\u212a", "matches", False),
    ("(?i)[a-c]+", "aBC", "matches", True),
    ("(?i:a)b", "AB", "matches", False),
    # Sets within classes.
    ("[a-z&&[^b]]+", "ac", "matches", True),
    ("[a-z&&[^b]]+", "ab", "matches", False),
    ("[a||b]", "|", "matches", True),
    ("[a~~b]+", "~", "matches", True),
    (r"\Qa.b\E+", "a.bbb", "matches", True),
    (r"(a|b)\1", "aa", "matches", True),
    (r"(?<x>a)\k<x>", "ab", "matches", False),
    (r"a++a", "aaa", "matches", False),
    ("(?<=(?<=a{1,3})b?)c+", "abcc", "find", True),
    (r"\p{IsLu}\p{gc=Alpha}", "\u00c9a", "matches", True),
    (r"\x{1F600}\u0041\0101\t", "\U0001f600AA\t", "matches", True),
]


@pytest.mark.parametrize(("pattern", "text", "how", "found"), CASES)
def test_patterns_match_java(pattern: str, text: str, how: str, *, found: bool) -> None:
    """Where Python's own expressions differ from Java's, Java's count."""
    java = JavaPattern(pattern)

    assert (java.matches(text) if how == "matches" else any(java.find_all(text))) is found


@pytest.mark.parametrize(
    ("pattern", "text", "replacement", "everywhere", "once"),
    [
        (".*", "abc", "X", "XX", "X"),
        ("b*", "abc", "-", "-a--c-", "-abc"),
        ("(a)(b)?", "ac", "[$1$2]", "[a]c", "[a]c"),
        ("(a)", "aa", "$12", "a2a2", "a2a"),
        ("(?<n>a)", "a", "${n}${n}", "aa", "aa"),
        ("a", "a", r"\$1\\", "$1\\", "$1\\"),
    ],
)
def test_replacement_matches_java(
    pattern: str, text: str, replacement: str, everywhere: str, once: str
) -> None:
    """Empty matches are replaced too, also beside others; references are Java's."""
    java = JavaPattern(pattern)

    assert java.replace(text, replacement) == everywhere
    assert java.replace(text, replacement, once=True) == once


@pytest.mark.parametrize("replacement", ["$", "$x", "\\", "$2", "${m}", "${", "$\u0663"])
def test_invalid_replacements_fail_as_in_java(replacement: str) -> None:
    java = JavaPattern("(a)")

    assert java.replace("b", replacement) == "b"
    with pytest.raises(ValueError, match="replacement"):
        java.replace("a", replacement)


def test_search_times_out() -> None:
    with pytest.raises(TimeoutError):
        JavaPattern("^CN=(([a-z])+.)+[A-Z]([a-z])+$").matches("CN=" + "a" * 3000)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(a", "a group is not closed, at character 3 of the pattern"),
        ("a)", "unmatched closing parenthesis, at character 2 of the pattern"),
        ("*a", "* has nothing to repeat"),
        ("a{2,1}", "the bounds of a quantifier are reversed"),
        ("a**", "a quantifier follows a quantifier"),
        ("a{", "{ has nothing to repeat"),
        (r"(a\1)", "a back reference refers to a group that is not closed yet"),
        (r"(?i)(a)\1", "back references under (?i) are not supported"),
        ("(?<a>b)(?<a>c)", "duplicate group name a"),
        ("(?x)a", "this kind of group is not supported; flags may be i and s"),
        ("\\", "the pattern ends too early"),
        (r"\G", "the escape G is not supported"),
        (r"(?i)\p{Upper}", "Upper under (?i) is not supported"),
        ("[a", "a character class is not closed"),
        ("[]", "a character class is not closed"),
        ("[&&a]", "&& requires a set of characters on both sides"),
        ("[a&&]", "&& requires a set of characters on both sides"),
        ("[b-a]", "a character range is reversed"),
        (r"[\Qa\E]", r"\Q within a class is not supported"),
        (r"[\p{Greek}]", r"\p{Greek} is not supported; allowed: a Unicode general category"),
        (r"\p{IsAlpha}", r"\p{IsAlpha} is not supported; allowed: a Unicode general category"),
        ("(?<=a*)b", "a lookbehind has no maximum length, which Java does not allow"),
        ("(?<!(?:ab{2,}){1,3}c)d", "a lookbehind has no maximum length, which Java does not allow"),
        (r"(a)(?<=\1)", "back references in a lookbehind are not supported"),
        (r"[\x{110000}]", "this is not a character"),
        (r"[\ud800]", "this is not a character"),
        (r"[\y]", "the escape y is not supported"),
        ("(" * 100 + ")" * 100, "nested groups"),
    ],
)
def test_unsupported_patterns_are_rejected(pattern: str, said: str) -> None:
    """What Java refuses, or what nothing here means exactly, with its place."""
    with pytest.raises(PatternError) as refused:
        JavaPattern(pattern)

    assert said in str(refused.value)


class Searched:
    """A compiled pattern that keeps how long each of its searches may take; each takes a while."""

    def __init__(self, compiled: Any, clock: Clock, search_s: float) -> None:
        self._compiled, self._clock, self._search_s = compiled, clock, search_s
        self.limits_s: list[float] = []

    def search(self, text: str, at: int, timeout: float) -> Any:
        self.limits_s.append(timeout)
        self._clock.now_s += self._search_s
        return self._compiled.search(text, at)


def test_time_limit_covers_all_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(java_regex, "thread_time", clock)
    pattern = JavaPattern("a")
    searched = pattern._compiled = Searched(pattern._compiled, clock, 0.3 * TIME_LIMIT_S)

    with pytest.raises(TimeoutError):
        pattern.replace("a" * 1000, "x")

    left = [TIME_LIMIT_S * part for part in (1, 0.7, 0.4, 0.1)]
    assert searched.limits_s == pytest.approx(left)


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * 8_193,
        "a" * 2_100,
        "(?i)" + "[\x01-\uffff]" * 1_000,
        "(?:a{1000}){1000}",
        "a{999999}",
        "a{20000,}",
        r"\Qab\E{20000}",
        "$" * 1_000,
        r"\b" * 1_000,
        "(?:" * 40 + "a{2}" + "){2}" * 40,
        "[" * 8_000,
        "[a&&" * 2_000,
    ],
    ids=range(12),
)
def test_large_patterns_are_refused_before_they_are_compiled(pattern: str) -> None:
    """A client that sends one would stop the server for all others."""
    with pytest.raises(PatternError) as refused:
        translate(pattern)

    assert (
        "large" in str(refused.value)
        or "characters; at most" in str(refused.value)
        or ("deeply" in str(refused.value))
    )


@pytest.mark.parametrize(
    "pattern", ["|".join(f"team-{n}" for n in range(200)), "(?:[a-z]{1,63}[.]){0,126}", "a{0,9999}"]
)
def test_usual_patterns_are_not_too_large(pattern: str) -> None:
    assert JavaPattern(pattern).select(["x", "team-7", "a", "b.c."])


def test_time_limit_covers_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit for each name alone would be hours for all topics."""
    clock = Clock()
    monkeypatch.setattr(java_regex, "thread_time", clock)
    pattern = JavaPattern("a")

    class Slow:
        def fullmatch(self, text: str, timeout: float) -> None:
            clock.now_s += 0.3 * TIME_LIMIT_S

    pattern._compiled = Slow()

    assert pattern.select(["b"] * 3) == []
    with pytest.raises(TimeoutError):
        pattern.select(["b"] * 1_000)
