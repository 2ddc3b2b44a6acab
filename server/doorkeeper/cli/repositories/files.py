"""ACLs in files, and in the files of folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from doorkeeper.acls.entities.model import EntitySet
from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.choosing import read_set
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.cli.repositories.addresses import STDIN, Address
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.file_ownership import AclFile, ownership_problems
from doorkeeper.cli.repositories.repository import AclContents, AclRepository, PlacedAcceptance

SUFFIXES: Final = (".yaml", ".yml", ".json", ".csv")
"""The ends of the names of files that are read in folders; a .txt is mostly no list of ACLs."""


class FileRepository(AclRepository):
    """A set of ACLs in any format of ``doorkeeper.acls.formats``; read only."""

    def __init__(
        self,
        address: Address,
        load: Callable[[str], bytes] = lambda name: Path(name).read_bytes(),
        *,
        others: Sequence[Address] = (),
        bare_principals: bool = False,
    ) -> None:
        """Take the address of a file or a folder, and further ones.

        ``load`` returns the bytes at the address; it may block. ``bare_principals`` accepts
        principals without a type, see ``doorkeeper.acls.formats.names``.
        """
        self.address = address
        self.description = "standard input" if address.is_stdin else address.target
        if others:
            self.description += f" and {len(others)} more"
        self._addresses = (address, *others)
        self._load = load
        self._bare_principals = bare_principals

    async def read(self) -> AclContents:
        """Return the bindings of the files, each once, in their order.

        It is an error that files own the same.
        """
        names = [name for address in self._addresses for name in _files_at(address)]
        # A file that is named beside its folder is read once.
        files = [AclFile(name, self._read(name)) for name in dict.fromkeys(names)]
        problems = ownership_problems(files)
        if problems:
            raise RepositoryError(*problems)
        found = dict.fromkeys(each for file in files for each in file.contents.bindings)
        owned = tuple(each.selector for file in files for each in file.contents.owned)
        accepted = tuple(
            PlacedAcceptance(file.place(file.contents.line_of(each.path)), each)
            for file in files
            for each in file.contents.accepted
        )
        sets = [file.contents.entities for file in files]
        entities = EntitySet(
            tuple(each for one in sets for each in one.entities),
            owned=tuple(each for one in sets for each in one.owned),
        )
        return AclContents(list(found), owned=owned, accepted=accepted, entities=entities)

    def _read(self, name: str) -> AclSet:
        try:
            text = self._load(name).decode("utf-8")
            # The format follows from the file's name, which standard input has not.
            return read_set(
                text,
                name="" if name == STDIN else name,
                bare_principals=self._bare_principals,
            )
        except OSError as error:
            raise RepositoryError(f"{name}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise RepositoryError(f"{name}: byte {error.start} is not UTF-8") from error
        except FormatError as error:
            raise RepositoryError(f"{name}: {error}") from error


def _files_at(address: Address) -> Iterator[str]:
    """Yield the name of a file, or those of the files in a folder, sorted."""
    path = Path(address.target)
    if address.is_stdin or not path.is_dir():
        yield address.target
        return
    # Hidden ones are copies of editors, and what version control keeps.
    found = sorted(
        each
        for each in path.rglob("*")
        if each.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in each.relative_to(path).parts)
        and not each.is_dir()
    )
    if not found:
        raise RepositoryError(
            f"{address.target}: the folder has no files {', '.join(SUFFIXES)}; for no ACLs,"
            ' expected is a file with {"version": 1, "acls": []}'
        )
    yield from map(str, found)
