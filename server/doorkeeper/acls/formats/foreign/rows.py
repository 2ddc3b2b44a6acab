"""Collects the bindings of a file of another tool, each with its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.names import FormatError, binding_of, check_words, mismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from doorkeeper.acls.formats.documents import Path
    from doorkeeper.acls.model import AclBinding

BINDINGS_MAX: Final = 1_000_000
"""The most bindings of a file: aliases of YAML can make a small text a huge list."""


class Rows:
    """The bindings of a file so far."""

    def __init__(self, line_of: Callable[[Path], int]) -> None:
        """Take a function from paths to lines, counting from 1."""
        self._line_of = line_of
        self._bindings: list[AclBinding] = []
        self._paths: list[Path] = []
        self._cluster = ""

    def add(self, path: Path, where: str, words: Mapping[str, Any]) -> None:
        """Add a binding; ``words`` are the arguments of ``binding_of``."""
        for word, value in words.items():
            if not isinstance(value, str):
                raise self.error(path, where, mismatch(value, "a string", word))
        try:
            binding = binding_of(**words)
        except FormatError as error:
            raise self.error(path, where, str(error)) from None
        if len(self._bindings) >= BINDINGS_MAX:
            raise self.error(path, where, f"found more than {BINDINGS_MAX} ACLs")
        self._bindings.append(binding)
        self._paths.append(path)

    def add_acls(
        self,
        path: Path,
        where: str,
        acls: object,
        words: Sequence[str],
        row_of: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    ) -> None:
        """Add the bindings of a list of mappings with some words.

        ``row_of`` returns the words of ``add``, of which "does" is a list of operations.
        """
        if not isinstance(acls, list):
            raise self.error(path, where, mismatch(acls, "a list", "acls"))
        for index, acl in enumerate(acls):
            acl_path, acl_where = (*path, index), f"{where}: acl {index + 1}"
            body = mapping_at(acl)
            try:
                check_words(body, words)
                row = row_of(body)
            except FormatError as error:
                raise self.error((*acl_path, *error.path), acl_where, str(error)) from None
            if not isinstance(row["does"], list):
                text = mismatch(row["does"], "a list", "operations")
                raise self.error(acl_path, acl_where, text)
            for operation in row["does"]:
                self.add(acl_path, acl_where, {**row, "does": operation})

    def error(self, path: Path, where: str, text: str) -> FormatError:
        """Return an error with the line of a path and the place in words."""
        return FormatError(f"{where}: {text}", self._line_of(path))

    def check_cluster(self, path: Path, where: str, cluster: str) -> None:
        """Note the cluster that an ACL is for; empty if the file does not say."""
        if self._cluster and cluster and cluster != self._cluster:
            text = f"found an ACL of cluster {cluster!r} after ACLs of {self._cluster!r}"
            raise self.error(path, where, f"{text}; expected: the ACLs of one cluster")
        self._cluster = cluster or self._cluster

    def result(self) -> AclSet:
        return AclSet(
            self._bindings, tuple(self._paths), line_of=self._line_of, cluster=self._cluster
        )


def mapping_at(value: object) -> Mapping[str, Any]:
    """Return a mapping, or an empty one for anything else: what it lacks is reported by name."""
    return value if isinstance(value, dict) else {}
