"""ACLs in files, and in the files of folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from doorkeeper.acls.entities.model import EntitySet
from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.choosing import read_set
from doorkeeper.acls.formats.names import FormatError, NoAcls
from doorkeeper.acls.validation import unstorable
from doorkeeper.base.encodings import not_utf8
from doorkeeper.cli.repositories.addresses import STDIN, Address
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.file_ownership import AclFile, ownership_problems
from doorkeeper.cli.repositories.repository import AclContents, AclRepository, PlacedAcceptance

SUFFIXES: Final = (".yaml", ".yml", ".json", ".csv")
"""The ends of the names of files that are read in folders; a .txt is mostly no list of ACLs."""

_PROBLEMS_MAX: Final = 20
"""Each line of a text costs parsing it anew."""


class FileRepository(AclRepository):
    """A set of ACLs in any format of ``doorkeeper.acls.formats``; read only."""

    def __init__(
        self,
        address: Address,
        load: Callable[[str], bytes] = lambda name: Path(name).read_bytes(),
        *,
        others: Sequence[Address] = (),
        is_wanted: bool = False,
    ) -> None:
        """Take the address of a file or a folder, and further ones.

        ``load`` returns the bytes at the address; it may block. ``is_wanted`` says that the ACLs
        will be written somewhere: what brokers refuse is an error then, and is read otherwise.
        """
        self.address = address
        self.description = "standard input" if address.is_stdin else address.target
        if others:
            self.description += f" and {len(others)} more"
        self._addresses = (address, *others)
        self._load = load
        self._without_acls = 0
        self._is_wanted = is_wanted

    async def read(self) -> AclContents:
        """Return the bindings of the files, each once, in their order.

        It is an error that files own the same.
        """
        self._without_acls = 0
        files = list(self._files())
        problems = [*_of_several_clusters(files), *ownership_problems(files)]
        if self._is_wanted:
            problems += islice(_unstorable(files), _PROBLEMS_MAX)
        if problems:
            raise RepositoryError(*problems)
        bindings = dict.fromkeys(binding for file in files for binding in file.contents.bindings)
        owned = tuple(part.selector for file in files for part in file.contents.owned)
        accepted = tuple(
            PlacedAcceptance(file.position_of(acceptance.path), acceptance)
            for file in files
            for acceptance in file.contents.accepted
        )
        sets = [file.contents.entities for file in files]
        entities = EntitySet(
            tuple(entity for entity_set in sets for entity in entity_set.entities),
            owned=tuple(part for entity_set in sets for part in entity_set.owned),
        )
        note = None
        if self._without_acls:
            note = f"files of other tools without ACLs: {self._without_acls}"
        return AclContents(
            list(bindings), note=note, owned=owned, accepted=accepted, entities=entities
        )

    def _files(self) -> Iterator[AclFile]:
        """Yield the files, each once; those of a folder that hold no ACLs are passed over."""
        seen: set[str] = set()
        for address in self._addresses:
            names = list(_files_at(address))
            empty: list[str] = []
            for name in names:
                if name in seen:
                    continue
                seen.add(name)
                try:
                    contents = self._read(name)
                except NoAcls as error:
                    empty.append(f"{name}: {error}")
                else:
                    yield AclFile(name, contents)
            if len(empty) == len(names):
                raise RepositoryError(empty[0])
            self._without_acls += len(empty)

    def _read(self, name: str) -> AclSet:
        try:
            text = self._load(name).decode("utf-8")
            # The format follows from the file's name, which standard input has not.
            return read_set(text, name="" if name == STDIN else name)
        except NoAcls:
            raise
        except OSError as error:
            raise RepositoryError(f"{name}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise RepositoryError(f"{name}: {not_utf8(error)}") from error
        except FormatError as error:
            raise RepositoryError(f"{name}: {error}") from error


def _of_several_clusters(files: Sequence[AclFile]) -> Iterator[str]:
    """Yield a sentence if files of other tools say that they are for different clusters."""
    named = {file.contents.cluster: file for file in files if file.contents.cluster}
    if len(named) > 1:
        (one, left), (other, right) = list(named.items())[:2]
        yield (
            f"{left.name} is of cluster {one!r}, and {right.name} of {other!r}; expected the ACLs"
            " of one cluster"
        )


def _unstorable(files: Sequence[AclFile]) -> Iterator[str]:
    """Yield why brokers would refuse bindings, with the line of each."""
    for file in files:
        for index, binding in enumerate(file.contents.bindings):
            if fault := unstorable(binding):
                yield f"{file.position_of_binding(index)}: {fault}"


def _files_at(address: Address) -> Iterator[str]:
    """Yield the name of a file, or those of the files in a folder, sorted."""
    path = Path(address.target)
    if address.is_stdin or not path.is_dir():
        yield address.target
        return
    # Hidden ones are copies of editors, and what version control keeps.
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and not file.is_dir()
    )
    if not files:
        raise RepositoryError(
            f"{address.target}: the folder has no files {', '.join(SUFFIXES)}; for an empty set"
            ' of ACLs, add a file with {"version": 1, "acls": []}'
        )
    yield from map(str, files)
