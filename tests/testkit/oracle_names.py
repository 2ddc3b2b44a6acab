"""Java's text of distinguished names, and Kafka's SslPrincipalMapper; random ones of both.

Names are made as bytes of DER, with what certificates seldom hold: every kind of string, values
that are no strings, several attributes in one part, identifiers that nobody knows.
"""

from collections.abc import Sequence

from hypothesis import strategies as st

from testkit.java_lines import JavaLines
from testkit.kafka_jars import ORACLES, jars

RELEASE = "4.3.1"


class NamesOracle:
    """Java and Kafka, in a JVM of its own."""

    def __init__(self) -> None:
        """Take the release.

        Raises:
            Unavailable: this machine cannot have it.
        """
        self._lines = JavaLines(jars(RELEASE, ORACLES / "names"), "NamesOracle")

    def names(self, names: Sequence[bytes]) -> list[str | None]:
        """Return the text of each name (DER); None for one that Java refuses."""
        answer = self._lines.ask({"names": [name.hex() for name in names]})
        return [each.get("is") for each in answer["answers"]]

    def mapped(self, rules: str, texts: Sequence[str]) -> list[str | None] | None:
        """Return the name of each text, None where none is given; None for rules refused."""
        answer = self._lines.ask({"rules": rules, "texts": texts})
        if "refused" in answer:
            return None
        return [each.get("is") for each in answer["answers"]]

    def close(self) -> None:
        """End the JVM."""
        self._lines.close()


# --- names as bytes


def der(tag: int, contents: bytes) -> bytes:
    """Return one element."""
    size = len(contents)
    if size < 0x80:
        return bytes([tag, size]) + contents
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + contents


def identifier(dotted: str) -> bytes:
    """Return an object identifier as DER."""
    first, second, *others = map(int, dotted.split("."))
    contents = b""
    for number in (first * 40 + second, *others):
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(number & 0x7F | 0x80)
        contents += bytes(reversed(digits))
    return der(0x06, contents)


def name(*parts: Sequence[tuple[str, int, bytes]]) -> bytes:
    """Return a name; each part holds attributes: identifier, tag and contents of the value."""
    return der(
        0x30,
        b"".join(
            der(
                0x31,
                b"".join(der(0x30, identifier(oid) + der(tag, value)) for oid, tag, value in part),
            )
            for part in parts
        ),
    )


KEYWORDS = {
    "CN": "2.5.4.3",
    "C": "2.5.4.6",
    "L": "2.5.4.7",
    "ST": "2.5.4.8",
    "STREET": "2.5.4.9",
    "O": "2.5.4.10",
    "OU": "2.5.4.11",
    "UID": "0.9.2342.19200300.100.1.1",
    "DC": "0.9.2342.19200300.100.1.25",
}
OTHERS = ("1.2.840.113549.1.9.1", "2.5.4.5", "2.5.4.4", "2.5.4.12", "2.999.1", "1.3.6.1.4.1.99999")

UTF8, PRINTABLE = 0x0C, 0x13
TAGS = (0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E, 0x1C, 0x12, 0x1A)
"""Tags of strings; the last three of them Java prints in hexadecimal."""

SPECIAL = st.sampled_from(' \r\n\t\0,=+<>#;"\\/@:$&aZ\u00e9\u0130\u03c3\u2028\ufffd\U0001f600')
TEXTS = st.text(SPECIAL | st.characters(codec="utf-8"), max_size=8)
OIDS = st.sampled_from([*KEYWORDS.values()] * 3 + [*OTHERS]) | st.builds(
    lambda a, b, c: f"{a}.{b}.{c}",
    st.integers(0, 2),
    st.integers(0, 39),
    st.integers(0, 2**70),
)
VALUES = (
    st.tuples(st.sampled_from(TAGS), TEXTS.map(lambda text: text.encode()))
    | st.tuples(st.sampled_from(TAGS), st.binary(max_size=8))
    | st.tuples(st.just(0x1E), TEXTS.map(lambda text: text.encode("utf-16-be")))
    | st.just((0x02, b"\x2a"))
)
ATTRIBUTES = st.builds(lambda oid, value: (oid, *value), OIDS, VALUES)
NAMES = st.lists(st.lists(ATTRIBUTES, min_size=1, max_size=3), max_size=5).map(
    lambda parts: name(*parts)
)


# --- rules, and texts that they read

ATOMS = st.sampled_from(
    [
        *(
            "CN",
            "OU=",
            ",",
            "a",
            "b",
            "Z",
            "K",
            "1",
            " ",
            "é",
            "@",
            "-",
            "#",
            "&",
            '"',
            "'",
            "~~",
            "]",
        ),
        *(
            ".",
            "$",
            "^",
            r"\w",
            r"\W",
            r"\d",
            r"\D",
            r"\s",
            r"\S",
            r"\b",
            r"\B",
            r"\h",
            r"\v",
            r"\R",
        ),
        *(
            r"\.",
            r"\,",
            r"\\",
            r"\/",
            r"\x41",
            r"\u0061",
            r"\0101",
            r"\x{1f600}",
            r"\cA",
            r"\t",
            r"\e",
        ),
        *(
            "[a-z]",
            "[^,]",
            "[^,=]+",
            "[A-Za-z0-9.]*",
            "[abc&&[bc]]",
            "[a-z&&[^c]]",
            "[a-z&&b-d]",
            "[]a]",
        ),
        *(
            "[^]a]",
            "[a-]",
            "[-a]",
            "[a||b]",
            "[a--b]",
            "[a~~b]",
            "[[a]b]",
            "[^[a]b]",
            r"[\w.]",
            r"[^\d]",
        ),
        *(
            r"[\p{L}&&[^a]]",
            "[&a]",
            "[a&b]",
            "[a-c-e]",
            "[a^]",
            "[#-&]",
            r"[\]\[]",
            "[^a&&b]",
            "[é-ü]",
        ),
        *(
            r"\p{L}",
            r"\p{Lu}",
            r"\P{L}",
            r"\p{Alpha}",
            r"\p{Upper}",
            r"\p{Punct}",
            r"\p{IsL}",
            r"\pL",
        ),
        *(
            r"\Qa.b\E",
            r"\Q[\E",
            r"\z",
            r"\Z",
            r"\A",
            "(?=a)",
            "(?!b)",
            "(?<=a)",
            "(?<!b)",
            "(?i)",
            "(?s)",
        ),
        *("(?-i)", "(?i:a)", "(?s:.)", "(?:ab|b)", "(?>a*)"),
        *(
            "\\",
            "\\Q",
            "(",
            ")",
            "[",
            "{",
            "}",
            "*",
            "+",
            "{1}",
            "(?",
            "&&",
            "|",
            r"\y",
            r"\N",
            r"\X",
        ),
    ]
)
REPETITIONS = st.sampled_from(
    ["", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "{2}", "{1,}", "{0,2}", "{1,2}?"]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pieces = st.lists(st.builds(lambda a, b: a + b, inner, REPETITIONS), min_size=1, max_size=4)
    sequences = pieces.map("".join)
    return (
        sequences
        | sequences.map(lambda text: f"({text})")
        | sequences.map(lambda text: f"(?<n>{text})")
        | st.builds(lambda a, b: f"({a}|{b})", sequences, sequences)
        | st.builds(lambda a, b: f"({a}){b}\\1", sequences, sequences)
    )


GROUPS = st.sampled_from(
    ["(.*?)", "(.*)", "([^,]*)", "(\\w+)", "(.+)", "([a-zA-Z0-9.]*)", "(CN|OU)"]
)
PLAIN = st.lists(
    GROUPS | st.sampled_from(["CN=", ",OU=", ",O=", ",", ".*", "^", "$", "^.*", ",.*$", "a"]),
    min_size=1,
    max_size=6,
).map("".join)
PATTERNS = PLAIN | st.recursive(ATOMS, _larger, max_leaves=6)
REPLACEMENTS = st.lists(
    st.sampled_from(["$1", "$2", "$0", "$3", "$12", "$10", "$100", "${n}", "${m}", "\\$", "\\\\"])
    | st.sampled_from(["a", "@", ".", "-", " ", "É", "ß", "Σ", "İ", "$", "\\", "$x", "\\/", ","]),
    max_size=4,
).map("".join)
RULE_TEXTS = st.one_of(
    st.just("DEFAULT"),
    st.builds(
        lambda pattern, replacement, case: f"RULE:{pattern}/{replacement}/{case}",
        PATTERNS,
        REPLACEMENTS,
        st.sampled_from(["", "", "L", "U", "x", "LU"]),
    ),
    st.sampled_from(
        ["", "DEFAULTS", "RULE:a/b", "RULE:/b/", "rule:a/b/", " ", "\n", "RULE:a/b/c/"]
    ),
)
RULES = st.lists(RULE_TEXTS, min_size=1, max_size=3).flatmap(
    lambda texts: st.sampled_from([", ", ",", " ,\n", ",\u00a0", "\n"]).map(
        lambda mark: mark.join(texts)
    )
)
SUBJECTS = st.lists(
    st.sampled_from(
        ["CN=", ",OU=", ",O=", ",", "=", "a", "b", "ab", "Alice", "K", "\u212a", "Straße"]
    )
    | st.sampled_from(
        ["\\,", "\\\\", "1", "42", " ", "\n", "\r", "\r\n", "\x85", "\u2028", "é", "ΑΣ"]
    )
    | st.sampled_from(
        ["\U0001f600", "A", "Z", "CN", "OU", "[", "&", "-", "^", "\x01", "\x1b", "\t", "Ⅳ", "٣"]
    ),
    max_size=6,
).map("".join)
