"""The ACLs that brokers of a cluster describe: of each answer, only what is new is decoded.

A broker describes all ACLs of one resource pattern together, in an order of its own. These bytes
are kept, and compared with those of the next answer, of whichever broker.
"""

from __future__ import annotations

import hashlib
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import ref

from doorkeeper.acls.codes import operation, pattern_type, permission_type, resource_type
from doorkeeper.acls.model import AccessControlEntry, AclBinding, ResourcePattern
from doorkeeper.client.bindings import bindings_of
from doorkeeper.client.errors import ApiFailure
from doorkeeper.sync.drift import known_bindings
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.reading import compact_array, compact_nullable_text, compact_text, octets, tags

if TYPE_CHECKING:
    from doorkeeper.sync.drift import Bindings


class _Block(NamedTuple):
    """The description of one resource pattern, and its bindings without those of unknown codes."""

    content: bytes
    bindings: tuple[AclBinding, ...]


class DescriptionChange(NamedTuple):
    """The bindings that one set of described bindings has more, and less, than the one before."""

    added: Bindings
    removed: Bindings


_UNCHANGED: Final = DescriptionChange(frozenset(), frozenset())


class Descriptions:
    """The last descriptions of the brokers of a cluster. For any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._answers: dict[int, tuple[bytes, Bindings]] = {}
        self._blocks: dict[bytes, _Block] = {}
        self._bindings: Bindings = frozenset()
        # The set before is of use to callers that still have it: a weak reference does not keep it.
        self._step: tuple[ref[Bindings], Bindings, DescriptionChange] | None = None

    def change(self, before: Bindings, after: Bindings) -> DescriptionChange | None:
        """Return the difference of two results of ``read``; None unless one follows the other."""
        if after is before:
            return _UNCHANGED
        step = self._step
        if step is None or step[0]() is not before or step[1] is not after:
            return None
        return step[2]

    def reader(self, broker: int) -> DescriptionReader:
        """Return a decoder of the answers of one broker."""
        return DescriptionReader(self, broker)

    def read(self, broker: int, data: bytes, at: int, version: int) -> Bindings:
        """Return the bindings of a response's body; equal ones are one object, mostly.

        Raises:
            ApiFailure: it is an error.
            Malformed: it is damaged.
        """
        # An equal answer, as of an idle cluster, costs a hash.
        digest = hashlib.blake2b(memoryview(data)[at:], digest_size=32).digest()
        with self._lock:
            known = self._answers.get(broker)
            if known is None or known[0] != digest:
                known = digest, self._decode(data, at, version)
                self._answers[broker] = known
            return known[1]

    def _decode(self, data: bytes, at: int, version: int) -> Bindings:
        if version < DescribeAclsResponse.FLEXIBLE_FROM:
            answer, _ = DescribeAclsResponse.decode(data, at, version)
            _check(answer.error_code, answer.error_message)
            return frozenset(known_bindings(bindings_of(answer)))
        try:
            return self._compare(data, at)
        except IndexError:
            raise Malformed("resources", len(data), "the data ends within an ACL") from None

    def _compare(self, data: bytes, at: int) -> Bindings:
        count, at = _begin(data, at)
        before = self._blocks
        blocks: dict[bytes, _Block] = {}
        new: list[tuple[AclBinding, ...]] = []
        entries: dict[bytes, AccessControlEntry] = {}
        for _ in range(count):
            # The type, the name, the type of the pattern.
            stop = _text_end(data, at + 1) + 1
            key = data[at:stop]
            block = before.get(key)
            # No description is the beginning of another one: it begins with its count.
            if block is None or not data.startswith(block.content, at):
                block = _block(data, at, stop, entries)
                new.append(block.bindings)
            if key in blocks:
                raise Malformed("resources", at, "a pattern that was there before")
            blocks[key] = block
            at += len(block.content)
        _skip_tags(data, at)
        gone = [each.bindings for key, each in before.items() if blocks.get(key) is not each]
        self._blocks = blocks
        added, removed = frozenset(chain(*new)), frozenset(chain(*gone))
        # Another order of the same ACLs is no change: a set of 100,000 is kept once.
        change = DescriptionChange(added - removed, removed - added)
        if change.added or change.removed:
            last = self._bindings
            self._bindings = (last - change.removed) | change.added
            self._step = ref(last), self._bindings, change
        return self._bindings


class DescriptionReader:
    """Decodes the answers of one broker, in the place of the response's class.

    A client decodes a long one in a thread.
    """

    def __init__(self, descriptions: Descriptions, broker: int) -> None:
        self._descriptions = descriptions
        self._broker = broker

    def decode(self, frame: bytes, at: int, version: int) -> tuple[Bindings, int]:
        """Decode the body of a response.

        Raises:
            ApiFailure: it is an error.
            Malformed: it is damaged.
        """
        return self._descriptions.read(self._broker, frame, at, version), len(frame)


def _check(code: int, text: str | None) -> None:
    if code:
        raise ApiFailure(code, text)


def _begin(data: bytes, at: int) -> tuple[int, int]:
    """Return the number of patterns, and the offset of the first."""
    code, at = octets(data, at + 4, 2, "error_code")
    first, at = _byte(data, at, "error_message")
    text, at = compact_nullable_text(data, at, first, "error_message")
    _check(int.from_bytes(code, "big", signed=True), text)
    first, at = _byte(data, at, "resources")
    return compact_array(data, at, first, 5, "resources")


def _byte(data: bytes, at: int, field: str) -> tuple[int, int]:
    (value,), at = octets(data, at, 1, field)
    return value, at


def _text_end(data: bytes, at: int) -> int:
    """Return the offset behind a compact text, unread."""
    size = data[at]
    # Names of more than 126 bytes are rare.
    if 0 < size < 0x80:
        return at + size
    return compact_text(data, at + 1, size, "text")[1]


def _block(data: bytes, begin: int, at: int, entries: dict[bytes, AccessControlEntry]) -> _Block:
    """Decode a description of a pattern, whose ACLs begin at an offset; ``entries`` are known."""
    name, _ = compact_text(data, begin + 2, data[begin + 1], "resource_name")
    pattern = ResourcePattern(resource_type(data[begin]), name, pattern_type(data[at - 1]))
    first, at = _byte(data, at, "acls")
    count, at = compact_array(data, at, first, 5, "acls")
    bindings = []
    for _ in range(count):
        stop = _text_end(data, _text_end(data, at)) + 2
        content = data[at:stop]
        entry = entries.get(content)
        if entry is None:
            entry = entries[content] = _entry(content)
        bindings.append(AclBinding(pattern, entry))
        at = _skip_tags(data, stop)
    at = _skip_tags(data, at)
    return _Block(data[begin:at], tuple(known_bindings(bindings)))


def _entry(content: bytes) -> AccessControlEntry:
    first, at = _byte(content, 0, "principal")
    principal, at = compact_text(content, at, first, "principal")
    first, at = _byte(content, at, "host")
    host, at = compact_text(content, at, first, "host")
    (operation_code, permission_code), _ = octets(content, at, 2, "operation")
    return AccessControlEntry(
        principal, host, operation(operation_code), permission_type(permission_code)
    )


def _skip_tags(data: bytes, at: int) -> int:
    first = data[at]
    return tags(data, at + 1, first, "unknown_tags")[1] if first else at + 1
