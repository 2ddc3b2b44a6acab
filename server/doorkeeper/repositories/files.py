"""ACLs in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from doorkeeper.acl.filters import matches
from doorkeeper.acl.formats.choosing import read as read_text
from doorkeeper.acl.formats.names import FormatError
from doorkeeper.repositories.errors import RepositoryError
from doorkeeper.repositories.repository import AclContents, AclRepository

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.repositories.addresses import Address


class FileRepository(AclRepository):
    """A set of ACLs in any format of ``doorkeeper.acl.formats``; read only."""

    def __init__(
        self,
        address: Address,
        load: Callable[[str], bytes] = lambda name: Path(name).read_bytes(),
        *,
        bare_principals: bool = False,
    ) -> None:
        """Take a file's address.

        ``load`` returns the bytes at the address; it may block. ``bare_principals`` accepts
        principals without a type, see ``doorkeeper.acl.formats.names``.
        """
        self.address = address
        self.description = "standard input" if address.is_stdin else address.target
        self._load = load
        self._bare_principals = bare_principals

    async def read(self) -> AclContents:
        """Return the bindings of the file, each once, in the file's order.

        Raises:
            RepositoryError: the file cannot be read, or has a syntax error.

        """
        name = self.address.target
        try:
            text = self._load(name).decode("utf-8")
            # The format follows from the file's name, which standard input has not.
            found = read_text(
                text,
                name="" if self.address.is_stdin else name,
                bare_principals=self._bare_principals,
            )
        except OSError as error:
            raise RepositoryError(f"{name}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise RepositoryError(f"{name}: byte {error.start} is not UTF-8") from error
        except FormatError as error:
            raise RepositoryError(f"{name}: {error}") from error
        return AclContents(list(dict.fromkeys(found)))

    async def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        """Return the bindings of the file that match any of the filters, sorted.

        Raises:
            RepositoryError: as for ``read``.

        """
        contents = await self.read()
        return matching(contents.bindings, filters)

    def change(self, *, create: bool = False) -> NoReturn:
        """Refuse.

        Raises:
            RepositoryError: always.

        """
        del create
        raise RepositoryError(f"{self.description}: a file is read only")


def matching(
    bindings: Sequence[AclBinding], filters: Sequence[AclBindingFilter]
) -> list[AclBinding]:
    """Return the bindings that match any of the filters, sorted, each once."""
    # Without an index: a list is read once, and building one costs more than a search.
    return sorted({each for each in bindings if any(matches(wanted, each) for wanted in filters)})
