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
# What is quoted, and the name or the digits of a reference.
_IN_REPLACEMENT = re.compile(r"\\(.?)|\$(?:\{([A-Za-z][A-Za-z0-9]*)\}|([0-9]+))?", re.DOTALL)


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
        translation, self.groups, self._names = translate(text)
        try:
            self._compiled = regex.compile(translation, regex.VERSION1)
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

    def replace(self, text: str, replacement: str, *, once: bool = False) -> str:
        """Replace every match, or the first.

        Raises:
            TimeoutError: the searches together exceed the time limit.
            ValueError: there is a match, and the replacement is invalid in Java.
        """
        parts, at = [], 0
        for match in self.find_all(text, in_all_s=TIME_LIMIT_S):
            parts += [text[at : match.start()], self._expand(match, replacement)]
            at = match.end()
            if once:
                break
        return "".join([*parts, text[at:]])

    def _expand(self, match: regex.Match[str], replacement: str) -> str:
        """Return the text for one match: ``$1``, ``${name}``, and a backslash quotes."""

        def expansion(part: re.Match[str]) -> str:
            quoted, name, digits = part.groups()
            if quoted is not None:
                if not quoted:
                    raise ValueError("the replacement ends with a backslash")
                return str(quoted)
            if name is not None:
                group, rest = self._names.get(name), ""
            elif digits is not None:
                # Java takes as many digits as name a group: $10 is $1 and "0" with one group.
                size = 1
                while size < len(digits) and int(digits[: size + 1]) <= self.groups:
                    size += 1
                name, rest = digits[:size], digits[size:]
                group = int(name) if int(name) <= self.groups else None
            else:
                raise ValueError("the replacement has a $ without a group")
            if group is None:
                text = f"the replacement refers to the group {name}, which does not exist"
                raise ValueError(text)
            return f"{match.group(group) or ''}{rest}"

        return _IN_REPLACEMENT.sub(expansion, replacement)
