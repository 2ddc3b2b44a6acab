"""Kafka's KerberosShortNamer as the judge of our rules, and random rules to ask it about."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from doorkeeper.server.security.java_regex import PatternError
from doorkeeper.server.security.kerberos_rules import NoShortName, ShortNamer
from testkit.java_lines import JavaLines
from testkit.kafka_jars import ORACLES, jars

Question = Mapping[str, Any]
Answer = Mapping[str, Any]


class RulesOracle:
    """Kafka's classes in a JVM of their own."""

    def __init__(self) -> None:
        """Take the reference release.

        Raises:
            Unavailable: this machine cannot have it.
        """
        self._lines = JavaLines(jars("4.3.1", ORACLES / "rules"), "RulesOracle")

    def answer(self, question: Question) -> Answer:
        """Return Kafka's answer; a refusal without its text."""
        answer: Answer = self._lines.ask(question)
        return {"refused": True} if "refused" in answer else answer

    def close(self) -> None:
        """End the JVM."""
        self._lines.close()


def our_answer(question: Question) -> Answer:
    """Return what our rules answer; ``pattern`` says that a pattern was refused."""
    try:
        namer = ShortNamer(question["realm"], question["rules"])
    except ValueError as error:
        return {"refused": True, "pattern": isinstance(error.__cause__, PatternError)}
    return {"names": [_short_name(namer, name) for name in question["names"]]}


def _short_name(namer: ShortNamer, name: str) -> str | None:
    try:
        return namer.short_name(name)
    except NoShortName:
        return None


_REALMS = st.sampled_from(["R", "EXAMPLE.COM", "A.R", "r"])
_WORDS = st.sampled_from(
    ["alice", "Bob", "kafka", "host.example.com", "ÄRGER", "straße", "a", "", "x$1", "a\\b", "a b"]
)
_PIECES = st.sampled_from(
    [
        *(
            "$0",
            "$1",
            "$2",
            "$3",
            "$",
            "$01",
            "$12",
            "@",
            ".",
            "x",
            "a",
            "-",
            "%",
            "$1@$0",
            "$9999999999",
        ),
    ]
)
_FORMS = st.one_of(
    st.sampled_from(["$1", "$1@$0", "$1.$2", "$1%$2@$0", "$2", "$0"]),
    st.lists(_PIECES, max_size=4).map("".join),
)
_ATOMS = st.sampled_from(
    [
        *(
            "a",
            "b",
            "alice",
            ".",
            ".*",
            "@",
            "R",
            "\\.",
            "[a-z]",
            "[^@]*",
            "\\w",
            "\\d",
            "\\S+",
            "$",
            "^",
        ),
        *(
            "(a",
            "(?i",
            "[",
            "x*",
            "o?",
            "a|b",
            "@.*",
            "EXAMPLE\\.COM",
            "\\p{Lu}",
            "\\p{Alpha}+",
            "{",
            "*",
        ),
        *(
            "[A-Z&&[^B]]",
            "\\b",
            "\\Qa.b\\E",
            "é",
            "ß",
            "+",
            "a{1}",
            "\\",
            "\\z",
            "\\Z",
            "\\y",
            "]",
            "}",
        ),
    ]
)
_PATTERNS = st.one_of(
    st.sampled_from([".*", ".*@R", ".*@EXAMPLE\\.COM", "[^@]*@.*", "alice.*", "@.*", "a", "[a-m]"]),
    st.lists(_ATOMS, max_size=4).map("".join),
)
_GROUPED = st.one_of(
    _PATTERNS,
    st.sampled_from(["([^@]*)@(.*)", "(a)(b)?", "(?<n>[a-z]+)", "(.)(.)", "(?i)ALICE", "(?:a|l)+"]),
)
_REPLACEMENTS = st.one_of(
    st.sampled_from(
        ["", "$1", "$2.$1", "user", "${n}", "$0", "$3", "\\$", "$", "\\", "${x}", "$12"]
    ),
    st.text("ab$\\{}1@", max_size=4),
)


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Draw a rule: mostly of Kafka's forms, some broken."""
    if draw(st.integers(0, 9)) == 0:
        return draw(
            st.sampled_from(["DEFAULT", "default", "DEFAULT/L", "", "RULE:", "RULE:[1:$1", "x"])
        )
    number = draw(st.sampled_from(["1", "1", "2", "2", "0", "3", "", "01", "99999999999"]))
    text = f"RULE:[{number}:{draw(_FORMS)}]"
    if draw(st.booleans()):
        text += f"({draw(_PATTERNS)})"
    if draw(st.booleans()):
        text += f"s/{draw(_GROUPED)}/{draw(_REPLACEMENTS)}/" + draw(st.sampled_from(["", "", "g"]))
    return text + draw(st.sampled_from(["", "", "", "/L", "/U", "L", "U", "/", "/LU", "//L", "x"]))


@st.composite
def kerberos_names(draw: st.DrawFn) -> str:
    """Draw a name: mostly of one or two components in a realm."""
    form = draw(
        st.sampled_from(["{0}@{2}", "{0}@{2}", "{0}/{1}@{2}", "{0}/{1}@{2}", "{0}", "{0}/{1}"])
    )
    if draw(st.integers(0, 9)) == 0:
        return draw(st.text("ab/@.\\$", max_size=8))
    return form.format(draw(_WORDS), draw(_WORDS), draw(_REALMS))


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a question for both: a default realm, rules, names."""
    return {
        "realm": draw(_REALMS),
        "rules": draw(st.lists(rules(), max_size=3)),
        "names": draw(st.lists(kerberos_names(), min_size=1, max_size=6)),
    }
