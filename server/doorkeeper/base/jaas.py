r"""``sasl.jaas.config``: login modules, each with a flag and options; the tokens of JAAS files too.

 org.apache.kafka.common.security.plain.PlainLoginModule required
  username="broker"  password="x"
  user_alice="it's \"quoted\"";

Kafka parses it with Java's ``StreamTokenizer``, whose quirks apply: an unquoted number is not a
value, a single ``/`` starts a comment, a quoted text ends at the end of its line, and ``\101`` in
it is the letter A. Errors never quote the text, which contains secrets.

Source: Kafka's ``JaasConfig``; ``java.io.StreamTokenizer``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

FLAGS = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")


class JaasError(ValueError):
    """The text is not a JAAS configuration; the error has the position, counted from 1."""


class LoginModule(Struct, frozen=True):
    """One module; ``options`` contains secrets."""

    name: str
    flag: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name}, {self.flag}, {len(self.options)} options)"


def parse(text: str) -> list[LoginModule]:
    """Return the modules, in order.

    Raises:
        JaasError: the text is not well-formed, or has no module.
    """
    tokens = JaasTokenizer(text)
    modules: list[LoginModule] = []
    while (token := tokens.next()) is not None:
        modules.append(_module(token, tokens))
    if not modules:
        raise JaasError("found no login module")
    return modules


def _module(name: JaasToken, tokens: JaasTokenizer) -> LoginModule:
    if not name.text:
        raise JaasError(f"expected the class of a login module at character {name.position}")
    flag = tokens.next()
    if flag is None or flag.text is None or flag.text.upper() not in FLAGS:
        raise JaasError(f"expected {', '.join(FLAGS)} at character {tokens.position}")
    options: dict[str, str] = {}
    while (key := tokens.next()) is not None and key.sign != ";":
        value = _value(key, tokens)
        # Kafka stores such a value under null, where it is never read.
        if key.text is not None:
            options[key.text] = value
    if key is None:
        raise JaasError("expected a semicolon at the end of the last login module")
    return LoginModule(name.text, flag.text.upper(), options)


def _value(key: JaasToken, tokens: JaasTokenizer) -> str:
    equals = tokens.next()
    value = tokens.next() if equals is not None and equals.sign == "=" else None
    if value is None or value.text is None:
        raise JaasError(
            f"the option at character {key.position} requires = and a value; quote values that"
            " are not a single word"
        )
    return value.text


# StreamTokenizer's default tables: all characters up to the space are white space, and all from
# U+00A0 are letters. A single slash starts a comment too; the character after it is skipped unseen.
# A number has one dot, and a minus alone is a sign.
_PATTERN: Final = r"""(?xs)
    (?P<skipped> (?: [\x00-\x20]+ | /\*.*?(?:\*/|\Z) | /[^*]?[^\r\n]* )*+ )
    (?: (?P<number> -?(?=[0-9.])[0-9]*(?:\.[0-9]*)? )
      | (?P<word> [WORD][WORD0-9.\-]* )
      | (?P<quote> ["'] )
        (?P<text> (?: \\(?:[0-3][0-7]{0,2}|[4-7][0-7]?|.)? | (?!(?P=quote))[^\\\r\n] )*+ )
        (?P=quote)?
      | (?P<sign> . ) )?
"""
_LETTERS: Final = "A-Za-z_$\xa0-\U0010ffff"
_ESCAPE: Final = re.compile(r"(?s)\\(?:([0-3][0-7]{0,2}|[4-7][0-7]?)|(.)?)")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasToken(Struct, frozen=True):
    """A token. ``text`` is None for numbers and signs; ``sign`` is None except for signs.

    ``quote`` is the quotation mark of a quoted text, None for a word. ``position`` starts at 1. The
    text may be a secret.
    """

    position: int
    text: str | None = None
    sign: str | None = None
    quote: str | None = None

    def __repr__(self) -> str:
        return f"Token({self.position})"


class JaasTokenizer:
    """Iterates over a text as Java does. Words may contain ``_``, ``-``, ``$`` and ``more``."""

    def __init__(self, text: str, more: str = "") -> None:
        # Java reads UTF-16, but its rules treat all characters beyond 255 alike.
        self._text = text
        self._token = re.compile(_PATTERN.replace("WORD", _LETTERS + more))
        self._at = 0
        self.position = 1

    @property
    def line(self) -> int:
        r"""Return the line of the last token, from 1; lines end with ``\n``, ``\r\n`` or ``\r``."""
        before = self._text[: self.position - 1]
        return 1 + before.count("\n") + before.count("\r") - before.count("\r\n")

    def next(self) -> JaasToken | None:
        """Return the next token, or None at the end."""
        match = self._token.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        self.position = match.end("skipped") + 1
        number, word, quote, text, sign = match.group("number", "word", "quote", "text", "sign")
        if text is not None:
            word = _ESCAPE.sub(_unescaped, text)
        if number is word is sign is None:
            return None
        return JaasToken(self.position, word, sign, quote)


def _unescaped(match: re.Match[str]) -> str:
    octal, character = match.groups()
    if octal is not None:
        return chr(int(octal, 8))
    # At the end of the text Java appends its marker for "no character".
    return _ESCAPES.get(character, character or "\uffff")
