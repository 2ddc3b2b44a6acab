"""``owns:``, the parts of all ACLs that a file owns.

    owns:
      - {prefixes: [pay-], resourceTypes: [TOPIC, GROUP]}
      - {principals: ["User:pay-app"]}

A mapping owns the ACLs that match each of its words; a list owns those that match one of its items.
Mappings about topics, users and quotas are read by ``entities``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.acls.formats.acl_set import Owned
from doorkeeper.acls.formats.entities import is_entity_part
from doorkeeper.acls.formats.names import FormatError, check_words, resource_type, wrong
from doorkeeper.acls.model import Principal
from doorkeeper.acls.plan import Selector

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.formats.documents import Path

WORDS: Final = ("principals", "prefixes", "resourceTypes")


def owned_parts(value: object, text_of: Callable[[str], str]) -> tuple[Owned, ...]:
    """Return the parts of the value of ``owns``; ``text_of`` replaces variables in texts."""
    if isinstance(value, dict):
        return () if is_entity_part(value) else (_part(value, ("owns",), text_of),)
    if not isinstance(value, list) or not value:
        raise wrong(value, f"a mapping with {', '.join(WORDS)}", "owns")
    return tuple(
        _part(part, ("owns", number), text_of)
        for number, part in enumerate(value)
        if not is_entity_part(part)
    )


def _part(value: object, path: Path, text_of: Callable[[str], str]) -> Owned:
    if not isinstance(value, dict):
        raise wrong(value, f"a mapping with {', '.join(WORDS)}", "owns", path)
    check_words(value, WORDS, path, "owns: ")
    # It would own all ACLs of the cluster, which is not to happen by a line that was deleted.
    if not value:
        raise FormatError(f"owns: is empty; expected: one of {', '.join(WORDS)}", path=path)
    try:
        texts = {word: _texts(word, names, text_of) for word, names in value.items()}
        selector = Selector(
            prefixes=tuple(texts.get("prefixes", ())),
            principals=frozenset(
                str(Principal.parse(principal)) for principal in texts.get("principals", ())
            ),
            resource_types=frozenset(map(resource_type, texts.get("resourceTypes", ()))),
        )
    except FormatError as error:
        raise error.at(path, "owns: ") from None
    except ValueError as error:
        raise FormatError(f"owns: {error}", path=(*path, "principals")) from None
    return Owned(selector, path)


def _texts(word: str, value: object, text_of: Callable[[str], str]) -> list[str]:
    names = value if isinstance(value, list) else [value]
    for name in names:
        if not isinstance(name, str):
            raise wrong(name, "a string", word)
    texts = list(map(text_of, names))
    if not texts or "" in texts:
        raise FormatError(
            f"{word}: is empty; expected: at least one value. Omit {word} to own all",
            path=(word,),
        )
    return texts
