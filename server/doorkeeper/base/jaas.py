r"""``sasl.jaas.config``: login modules, each with a flag and options.

 org.apache.kafka.common.security.plain.PlainLoginModule required
  username="broker"  password="x"
  user_alice="it's \"quoted\"";

Kafka parses it with Java's ``StreamTokenizer``, whose quirks apply: an unquoted number is not a
value, a single ``/`` starts a comment, a quoted text ends at the end of its line, and ``\101`` in
it is the letter A. Errors never quote the text, which contains secrets.

Source: Kafka's ``JaasConfig``; ``java.io.StreamTokenizer``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from doorkeeper.base.jaas_tokens import JaasToken, JaasTokenizer

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
