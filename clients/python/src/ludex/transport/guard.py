"""Guards against concurrent use of a connection and against interrupted changes.

Two concurrent users of a connection would read each other's replies. After an interrupt such as
Ctrl-C, the client cannot know whether the server has executed the step.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType

from ..errors import LudexError


class Guard:
    """A guard that admits one thread of one process at a time.

    Attributes:
        torn: True if a call was interrupted, so that the state of the connection is unknown.
        closed: True if the connection is closed.
    """

    def __init__(self) -> None:
        self.torn = False
        self.closed = False
        self._process = os.getpid()
        # The thread inside; setdefault tests and sets it atomically.
        self._inside: dict[str, int] = {}

    @property
    def foreign(self) -> bool:
        """True if this process was forked after the connection was opened."""
        return self._process != os.getpid()

    def enter(self) -> None:
        """Admit the calling thread until it calls :meth:`leave`.

        Raises:
            LudexError: ``closed``, ``wrong_process``, or ``busy`` if another thread is inside.
        """
        if self.closed:
            raise LudexError("closed", "this client is closed; open a new one")
        if self.foreign:
            raise LudexError(
                "wrong_process",
                "this client was created before a fork, and the parent process reads from the same "
                "connection; create a client in each process after the fork",
            )
        me = threading.get_ident()
        # If this thread is inside already, an interrupt prevented it from leaving.
        if self._inside.setdefault("thread", me) != me:
            raise LudexError(
                "busy",
                "another thread is using this client; create a client for each thread, "
                "or put a lock around your calls",
            )

    def leave(self) -> None:
        """End the use by the calling thread."""
        self._inside.clear()


class ChangeGuard:
    """Base class of environments, which detects interrupted changes.

    After an interrupt, steps are refused until a reset or restore, because the server may have
    executed a step whose result the caller has not received.
    """

    _unconfirmed = False

    def _begin(self) -> None:
        """Start a change; :meth:`_confirm` ends it.

        Raises:
            LudexError: ``interrupted``: the previous change has not ended.
        """
        if self._unconfirmed:
            raise LudexError(
                "interrupted",
                "the last step or reset was interrupted, so the state of these environments is "
                "unknown; reset all of them first, or restore a snapshot",
            )
        self._unconfirmed = True

    def _discard_change(self) -> None:
        """Discard an interrupted change, because the state is about to be replaced."""
        self._unconfirmed = False

    def _confirm(self) -> None:
        """End the change: the caller receives the result, or the server has refused it."""
        self._unconfirmed = False

    def _change(self, *, replace_all: bool = False) -> ChangeScope:
        """Return a context manager for a change.

        Args:
            replace_all: True if the states of all environments are replaced, which discards an
                interrupted change.
        """
        return ChangeScope(self, replace_all)


class ChangeScope:
    """Context manager of a change."""

    __slots__ = ("_before", "_owner", "_replace_all")

    def __init__(self, owner: ChangeGuard, replace_all: bool) -> None:
        self._owner = owner
        self._replace_all = replace_all
        self._before = False

    def __enter__(self) -> None:
        self._before = self._owner._unconfirmed
        if self._replace_all:
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
