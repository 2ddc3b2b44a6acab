"""SCRAM credentials of all users, as an immutable table.

Snapshots share structure, so another credential costs O(log n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import immutables

from doorkeeper.base.credentials import ITERATIONS_MIN, ScramCredential

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from doorkeeper.server.schema.declared import StoredCredential


class ScramUsers:
    """An immutable snapshot of the credentials."""

    __slots__ = ("_by_user", "_rounds")

    def __init__(self, credentials: Iterable[StoredCredential] = ()) -> None:
        self._by_user: immutables.Map[str, immutables.Map[str, ScramCredential]] = immutables.Map()
        # Counts of (mechanism, iterations), so that usual_iterations does not visit all users.
        self._rounds: immutables.Map[tuple[str, int], int] = immutables.Map()
        self._take(credentials, ())

    def with_changes(
        self,
        set: Iterable[StoredCredential],
        deleted: Iterable[StoredCredential],
    ) -> Self:
        """Return a snapshot without ``deleted`` and with ``set``."""
        found = type(self)()
        found._by_user, found._rounds = self._by_user, self._rounds  # noqa: SLF001  the same class
        found._take(set, deleted)  # noqa: SLF001  as above
        return found

    def credential(self, mechanism: str, user: str) -> ScramCredential | None:
        """Return a user's credential; None if the user has none for the mechanism."""
        of_user = self._by_user.get(user)
        return None if of_user is None else of_user.get(mechanism)

    def names(self) -> Sequence[str]:
        """Return the names of all users, sorted."""
        return sorted(self._by_user)

    def iterations_of(self, user: str) -> Mapping[str, int]:
        """Return the iterations of a user's credentials by mechanism, sorted by mechanism."""
        of_user = self._by_user.get(user) or immutables.Map()
        return {mechanism: of_user[mechanism].iterations for mechanism in sorted(of_user)}

    def usual_iterations(self, mechanism: str) -> int:
        """Return a mechanism's most frequent number of iterations; the minimum without any.

        Of equally frequent numbers the lowest counts. O(distinct numbers). Unknown users get this
        number, so that a client cannot tell them from existing ones.
        """
        counted = [
            (-count, iterations)
            for (found, iterations), count in self._rounds.items()
            if found == mechanism
        ]
        return min(counted)[1] if counted else ITERATIONS_MIN

    def _take(
        self,
        replaced: Iterable[StoredCredential],
        deleted: Iterable[StoredCredential],
    ) -> None:
        """Change this snapshot during its construction."""
        none: immutables.Map[str, ScramCredential] = immutables.Map()
        with self._by_user.mutate() as by_user, self._rounds.mutate() as rounds:

            def count(mechanism: str, iterations: int, step: int) -> None:
                found = rounds.get((mechanism, iterations), 0) + step
                if found:
                    rounds[mechanism, iterations] = found
                else:
                    del rounds[mechanism, iterations]

            for user, mechanism, *_ in deleted:
                of_user = by_user[user]
                count(mechanism, of_user[mechanism].iterations, -1)
                left = of_user.delete(mechanism)
                if left:
                    by_user[user] = left
                else:
                    del by_user[user]
            for user, mechanism, salt, stored_key, server_key, iterations in replaced:
                credential = ScramCredential(salt, stored_key, server_key, iterations)
                of_user = by_user.get(user, none)
                if mechanism in of_user:
                    count(mechanism, of_user[mechanism].iterations, -1)
                by_user[user] = of_user.set(mechanism, credential)
                count(mechanism, credential.iterations, 1)
            self._by_user, self._rounds = by_user.finish(), rounds.finish()
