"""JSON as sets of ACLs and plans are kept in it: nothing is lost, and whatever is wrong has a line.

Python's reader takes the last of two members of one name: of two lists ``acls`` the first would be
gone, and whoever applies the rest removes what it had.
"""

from __future__ import annotations

import json
from typing import Any

from doorkeeper.acl.formats.names import FormatError


def document_of(text: str) -> object:
    """Return the document of a JSON text.

    Raises:
        FormatError: it is none, or a member is there twice.

    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"no JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise FormatError("no JSON: nested too deeply") from None
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"no JSON: {error}") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FormatError(f"{twice!r} stands twice in one object")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_members)
