"""A JAAS file: sections with login modules, as Java's parser reads them.

 KafkaServer {
  org.apache.kafka.common.security.plain.PlainLoginModule required
   user_alice="her password";
  org.apache.kafka.common.security.scram.ScramLoginModule required;
 };

Differences from ``sasl.jaas.config``: single quotes do not quote, words may contain ``*``, section
names are unique, and ``${user.home}`` in a value is expanded. Errors never quote the text, which
contains secrets.

Source: ``sun.security.provider.ConfigFile`` and ``sun.security.util.PropertyExpander`` (17).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from doorkeeper.base.entry import Problem
from doorkeeper.base.jaas import FLAGS, JaasError, JaasToken, JaasTokenizer, LoginModule
from doorkeeper.base.secret_files import TooLarge, read_bytes
from doorkeeper.server.config.keys import JAAS_FILE

# Far longer than any JAAS file; rejects a large file that was named by mistake.
FILE_BYTES_MAX: Final = 1 << 20


class JaasFile(Struct, frozen=True):
    """A file as read. ``problems`` explain an unusable file."""

    path: str
    sections: Mapping[str | None, tuple[LoginModule, ...]]
    problems: tuple[Problem, ...] = ()


NO_FILE: Final = JaasFile("", {})


def read(path: str) -> JaasFile:
    """Read a file; its faults are in ``problems``. An empty path means no file."""
    if not path:
        return NO_FILE
    try:
        data = read_bytes(Path(path), FILE_BYTES_MAX)
    except TooLarge as error:
        return JaasFile(path, {}, (Problem("", JAAS_FILE.name, f"{error}: is it a JAAS file?"),))
    except (OSError, ValueError) as error:
        text = f"cannot read {path}: {getattr(error, 'strerror', None) or 'no such name'}"
        return JaasFile(path, {}, (Problem("", JAAS_FILE.name, text),))
    try:
        return JaasFile(path, parse(data.decode("utf-8-sig", "replace"), java_properties()))
    except JaasError as error:
        # The text of the error starts with the line.
        return JaasFile(path, {}, (Problem(f"{path} {error}", "", ""),))


def java_properties() -> dict[str, str]:
    """Return the Java properties that ``${name}`` may name."""
    # Without a home folder ``~`` stays as it is; pathlib would raise an error.
    home = os.path.expanduser("~")  # noqa: PTH111  the pathlib one raises where there is none
    return {
        "/": os.sep,
        "file.separator": os.sep,
        "path.separator": os.pathsep,
        "user.dir": str(Path.cwd()),
        "user.home": home,
    }


def parse(text: str, properties: Mapping[str, str]) -> dict[str | None, tuple[LoginModule, ...]]:
    """Return the sections by name. As in Java, a sign may be a name: None, never looked up.

    Raises:
        JaasError: the text is not well-formed; the error has the line and the expected token.
    """
    parser = _JaasFileParser(text, properties)
    sections: dict[str | None, tuple[LoginModule, ...]] = {}
    while parser.token is not None:
        line = parser.line
        name, modules = parser.section()
        if name in sections:
            raise JaasError(f"line {line}: duplicate section name")
        sections[name] = modules
    return sections


class _JaasFileParser:
    """Parses section after section; ``token`` is the next token, None at the end."""

    def __init__(self, text: str, properties: Mapping[str, str]) -> None:
        self._tokens = JaasTokenizer(text, more="*")
        self._properties = properties
        self.token: JaasToken | None = self._tokens.next()

    @property
    def line(self) -> int:
        return self._tokens.line

    def section(self) -> tuple[str | None, tuple[LoginModule, ...]]:
        name = None if self.token is None else self.token.text
        self.token = self._tokens.next()
        self._sign("{", "{ after the name of a section")
        modules = []
        while not self._at("}"):
            modules.append(self._module())
        self._sign("}", "}")
        self._sign(";", "a semicolon after the } of a section")
        return name, tuple(modules)

    def _module(self) -> LoginModule:
        line = self.line
        name = self._word("the class of a login module, or } and a semicolon")
        if not name:
            raise JaasError(f"line {line}: expected the class of a login module")
        flags = ", ".join(flag.lower() for flag in FLAGS[:-1]) + f" or {FLAGS[-1].lower()}"
        line = self.line
        flag = self._word(flags).upper()
        if flag not in FLAGS:
            raise JaasError(f"line {line}: expected {flags}")
        options: dict[str, str] = {}
        while not self._at(";"):
            key = self._word("an option, or a semicolon after the last one")
            self._sign("=", "= after the name of an option")
            line = self.line
            value = self._word("a value, in double quotes where it is more than a word")
            try:
                options[key] = expand(value, self._properties)
            except KeyError:
                known = ", ".join(sorted(self._properties))
                text = f"line {line}: ${{...}} in a value names none of {known}"
                raise JaasError(text) from None
            # Java rejects a value that becomes empty by its properties.
            if value and not options[key]:
                raise JaasError(f"line {line}: a value is empty after replacing ${{...}}")
        self.token = self._tokens.next()
        return LoginModule(name, flag, options)

    def _at(self, sign: str) -> bool:
        return self.token is not None and self.token.sign == sign

    def _sign(self, sign: str, expected: str) -> None:
        if not self._at(sign):
            raise self._error(expected)
        self.token = self._tokens.next()

    def _word(self, expected: str) -> str:
        token = self.token
        if token is None or token.text is None or token.quote == "'":
            raise self._error(expected)
        self.token = self._tokens.next()
        return token.text

    def _error(self, expected: str) -> JaasError:
        ending = "" if self.token is not None else "the file ends; "
        return JaasError(f"line {self.line}: {ending}expected: {expected}")


# As in Java, ${{...}} protects its content, and the rest of a text stays after a ${ that is not
# closed.
_REFERENCE: Final = re.compile(r"\$\{\{.*?(?:\}\}|\Z)|\$\{([^}]*)\}|\$\{.*", re.DOTALL)


def expand(value: str, properties: Mapping[str, str]) -> str:
    """Return a value with every ``${name}`` replaced; ``${{...}}`` stays as it is.

    Raises:
        KeyError: a name is not a property.
    """

    def replacement(reference: re.Match[str]) -> str:
        return reference[0] if reference[1] is None else properties[reference[1]]

    return _REFERENCE.sub(replacement, value)
