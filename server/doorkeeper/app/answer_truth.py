"""What remembered answers are true of: everything that their handlers read, as values.

Each part is a value that never changes and is replaced as a whole, so comparing two truths is
comparing which values they hold. Who adds to what a remembered API reads adds it here, or to
``LiveNode.told_from``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorkeeper.app.live_node import LiveNode
    from doorkeeper.authorizer.guard import GuardedAuthorizer
    from doorkeeper.remembering import Truth


class AnswerTruth:
    """The truth of one server, as ``AnswerMemory`` asks for it."""

    __slots__ = ("_authorizer", "_node")

    def __init__(self, node: LiveNode, authorizer: GuardedAuthorizer | None) -> None:
        """Take the node, and who decides there."""
        self._node = node
        self._authorizer = authorizer

    def of(self, listener_name: str) -> Truth | None:
        """Return what an answer to a client of a listener is made from now; None: nobody knows."""
        authorizer = self._authorizer
        decided_from = () if authorizer is None else authorizer.decided_from()
        if decided_from is None:
            return None
        return decided_from, self._node.told_from(listener_name)
