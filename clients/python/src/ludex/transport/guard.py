"""What keeps a client from lying: one process, one thread at a time, and no interrupted change.

Two users of one connection would read each other's replies. And after an interrupt such as Ctrl-C
nobody knows whether the server has made the move.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType

from ..errors import LudexError


class Guard:
    """Lets one thread of one process use a connection at a time.

    Attributes:
        torn: a use was interrupted, so the state of the connection is unknown.
        closed: nobody may use it any more.
    """

    def __init__(self) -> None:
        self.torn = False
        self.closed = False
        self._process = os.getpid()
        # The thread that is inside. Only setdefault asks and takes it in one step.
        self._inside: dict[str, int] = {}

    @property
    def foreign(self) -> bool:
        """True if this process was forked after the connection was made."""
        return self._process != os.getpid()

    def enter(self) -> None:
        """Let the calling thread in; :meth:`leave` ends its use.

        Raises:
            LudexError: ``closed``, ``wrong_process``, or ``busy`` if another thread is inside.
        """
        if self.closed:
            raise LudexError("closed", "this client is closed: make a new one")
        if self.foreign:
            raise LudexError(
                "wrong_process",
                "this client was made in another process, which reads from the same connection: "
                "make a client of its own in each process, after the fork",
            )
        me = threading.get_ident()
        # If it is this thread that is inside, an interrupt kept it from leaving.
        if self._inside.setdefault("thread", me) != me:
            raise LudexError(
                "busy",
                "another thread is using this client: make a client for each thread, "
                "or use a lock around your calls",
            )

    def leave(self) -> None:
        """End the use."""
        self._inside.clear()


class ChangeGuard:
    """Environments that are changed by requests and notice an interrupted change.

    After an interrupt they refuse to move until they begin anew, because the server may have made
    the move whose result the caller has not seen.
    """

    _unconfirmed = False

    def _begin(self) -> None:
        """Begin a change; :meth:`_confirm` ends it.

        Raises:
            LudexError: ``interrupted``: the change before has not ended.
        """
        if self._unconfirmed:
            raise LudexError(
                "interrupted",
                "the last step or reset was interrupted, so these environments may have moved "
                "unseen: reset all of them first, or restore a snapshot",
            )
        self._unconfirmed = True

    def _discard_change(self) -> None:
        """Forget an interrupted change: nothing from before will matter."""
        self._unconfirmed = False

    def _confirm(self) -> None:
        """End a change: the caller gets the result, or the server has refused it."""
        self._unconfirmed = False

    def _change(self, *, anew: bool = False) -> ChangeScope:
        """Begin a change that ends with a ``with`` block.

        Args:
            anew: all environments begin anew, so an interrupted change before does not matter.
        """
        return ChangeScope(self, anew)


class ChangeScope:
    """A change of environments, as a ``with`` block."""

    __slots__ = ("_anew", "_before", "_owner")

    def __init__(self, owner: ChangeGuard, anew: bool) -> None:
        self._owner = owner
        self._anew = anew
        self._before = False

    def __enter__(self) -> None:
        self._before = self._owner._unconfirmed
        if self._anew:
            self._owner._discard_change()
        self._owner._begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._owner._unconfirmed = False
        elif issubclass(kind, LudexError):
            self._owner._unconfirmed = self._before
