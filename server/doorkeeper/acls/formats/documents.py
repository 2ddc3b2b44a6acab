"""Strict JSON parsing for sets of ACLs and plans; errors have a line.

Python's parser keeps the last of two members with one name: of two lists ``acls`` the first would
be lost, and applying the rest would remove its bindings.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from doorkeeper.acls.formats.names import FormatError


def document_of(text: str) -> object:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise FormatError("not JSON: nested too deeply") from None
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"not JSON: {error}") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise FormatError(f"duplicate key {twice!r} in an object")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_members)
