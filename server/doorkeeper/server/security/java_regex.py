r"""Java's regular expressions, translated for the package ``regex``.

Rules that map principals are written for Java's ``Pattern``. Python reads many patterns without an
error, but differently: ``$`` and ``.`` know other line ends, ``\w`` and ``(?i)`` mean ASCII only,
``[a&&[b]]`` is an intersection. A pattern that has no exact translation is rejected when the rule
is read, so that no rule means something else here than on a broker.

A search, and a replacement of all matches, has a time limit: patterns may backtrack without bound,
and the peer chooses the text. What compiling costs is bounded by the size of a pattern: clients
choose some patterns too.

Source: ``java.util.regex.Pattern`` and ``Matcher`` of JDK 17.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from time import thread_time
from typing import Final

import regex

from doorkeeper.server.security.java_regex_parsing import PatternError, translate

__all__ = ["JavaPattern", "PatternError"]

# The limit of one search. Usual rules take microseconds; the search blocks the event loop.
TIME_LIMIT_S: Final = 0.1
# What each text adds to the limit of a search in many: ten times what a usual pattern takes.
_EACH_TEXT_S: Final = 0.000_01
_NAMED_REFERENCE = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")
_DIGITS = frozenset("0123456789")


class JavaPattern:
    """A compiled pattern. ``groups`` is the number of its capturing groups."""

    __slots__ = ("_compiled", "_names", "groups", "text")

    def __init__(self, text: str) -> None:
        """Translate and compile a pattern.

        Raises:
            PatternError: Java rejects the pattern, there is no exact translation, or it is too
                large.
        """
        self.text = text
        translation = translate(text)
        self.groups = translation.groups
        self._names = translation.names
        try:
            self._compiled = regex.compile(translation.text, regex.VERSION1)
        except regex.error as error:
            raise PatternError(f"the pattern is not supported: {error.msg}") from None
        except (RecursionError, OverflowError, MemoryError):
            raise PatternError("the pattern is too large") from None

    def __repr__(self) -> str:
        return f"JavaPattern({self.text!r})"

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text.

        Raises:
            TimeoutError: the search exceeds its time limit.
        """
        return self._compiled.fullmatch(text, timeout=TIME_LIMIT_S) is not None

    def select(self, texts: Collection[str]) -> list[str]:
        """Return the texts that the pattern matches as a whole.

        Raises:
            TimeoutError: the searches together exceed the time limit.
        """
        end_s = thread_time() + TIME_LIMIT_S + len(texts) * _EACH_TEXT_S
        selected = []
        for text in texts:
            left_s = end_s - thread_time()
            if left_s <= 0:
                raise TimeoutError("the pattern takes too long")
            if self._compiled.fullmatch(text, timeout=left_s) is not None:
                selected.append(text)
        return selected

    def looking_at(self, text: str) -> regex.Match[str] | None:
        """Return the match at the beginning of the text, or None; raises as ``matches``."""
        return self._compiled.match(text, timeout=TIME_LIMIT_S)

    def find_all(self, text: str, *, in_all_s: float | None = None) -> Iterator[regex.Match[str]]:
        """Yield the matches in order, as ``Matcher.find`` does; raises as ``matches``.

        ``in_all_s`` bounds the processor time of all searches and of the work between them: on a
        busy machine a short search is no long one.
        """
        at = 0
        end_s = None if in_all_s is None else thread_time() + in_all_s
        while at <= len(text):
            left_s = TIME_LIMIT_S if end_s is None else end_s - thread_time()
            if left_s <= 0:
                raise TimeoutError("the pattern takes too long")
            match = self._compiled.search(text, at, timeout=left_s)
            if match is None:
                return
            yield match
            # After an empty match Java continues one character later.
            at = match.end() + (match.end() == match.start())

    def replace_all(self, text: str, replacement: str) -> str:
        """Replace every match.

        Raises:
            TimeoutError: the searches together exceed the time limit.
            ValueError: there is a match, and the replacement is invalid in Java.
        """
        return self._replace(text, replacement, once=False)

    def replace_first(self, text: str, replacement: str) -> str:
        return self._replace(text, replacement, once=True)

    def _replace(self, text: str, replacement: str, *, once: bool) -> str:
        parts, at = [], 0
        for match in self.find_all(text, in_all_s=TIME_LIMIT_S):
            parts += [text[at : match.start()], self._expand(match, replacement)]
            at = match.end()
            if once:
                break
        return "".join([*parts, text[at:]])

    def _expand(self, match: regex.Match[str], replacement: str) -> str:
        """Return the text for one match: ``$1``, ``${name}``, and a backslash quotes."""
        parts, at = [], 0
        while at < len(replacement):
            character = replacement[at]
            at += 1
            if character == "\\":
                if at == len(replacement):
                    raise ValueError("the replacement ends with a backslash")
                parts.append(replacement[at])
                at += 1
            elif character == "$":
                group, at = self._reference(replacement, at)
                parts.append(match.group(group) or "")
            else:
                parts.append(character)
        return "".join(parts)

    def _reference(self, replacement: str, at: int) -> tuple[int, int]:
        """Return the group number after a ``$``, and the offset of its end."""
        named = _NAMED_REFERENCE.match(replacement, at)
        if named is not None:
            if named[1] not in self._names:
                raise ValueError(
                    f"the replacement refers to the group {named[1]}, which does not exist"
                )
            return self._names[named[1]], named.end()
        if at == len(replacement) or replacement[at] not in _DIGITS:
            raise ValueError("the replacement has a $ without a group")
        group = int(replacement[at])
        at += 1
        if group > self.groups:
            raise ValueError(f"the replacement refers to the group {group}, which does not exist")
        # Java takes as many digits as name a group that exists: $10 is $1 and "0" with one group.
        while at < len(replacement) and replacement[at] in _DIGITS:
            if group * 10 + int(replacement[at]) > self.groups:
                break
            group = group * 10 + int(replacement[at])
            at += 1
        return group, at
