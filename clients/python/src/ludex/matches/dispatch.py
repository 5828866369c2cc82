"""Dispatchers, which pass turns to an agent sequentially, in batches, or asynchronously."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any

from .turn import Agent, Move, Turn

TurnReply = tuple[Turn, Any]

Policy = Callable[[list[Turn]], "Sequence[Move]"]
"""A batch policy: takes turns of several matches, returns a move for each."""

AsyncAgent = Callable[[Turn], "Awaitable[Move]"]
AsyncPolicy = Callable[[list[Turn]], "Awaitable[Sequence[Move]]"]


class Dispatcher:
    """Base class of dispatchers.

    Attributes:
        max_turns: maximum number of turns per call; ``None``: unlimited.
        wakeup: socket that becomes readable when replies are ready for :meth:`dispatch`; ``None``
            if :meth:`dispatch` always returns all replies.
    """

    max_turns: int | None = None
    wakeup: socket.socket | None = None

    def dispatch(self, turns: list[Turn]) -> list[TurnReply]:
        """Accept new turns, and return the replies that are ready, possibly to earlier turns.

        Exceptions of the agent propagate.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Cancel pending work. Safe to call twice."""


class SequentialDispatcher(Dispatcher):
    """Calls the agent in the player's thread, oldest turn first."""

    max_turns = 1

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def dispatch(self, turns: list[Turn]) -> list[TurnReply]:
        """Return the agent's reply to each turn."""
        return [(turn, self._agent(turn)) for turn in turns]


class BatchDispatcher(Dispatcher):
    """Calls a policy with all pending turns."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def dispatch(self, turns: list[Turn]) -> list[TurnReply]:
        """Return the policy's replies.

        Raises:
            ValueError: the numbers of moves and turns differ.
        """
        return pair_moves(turns, self._policy(turns)) if turns else []


class AsyncDispatcher(Dispatcher):
    """Awaits an agent or policy in an event loop, with turns of several matches concurrently."""

    def __init__(
        self,
        agent: AsyncAgent | AsyncPolicy,
        *,
        batch: bool = False,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Create the dispatcher.

        Args:
            agent: the agent, or with ``batch`` the policy.
            batch: True if ``agent`` takes a list of turns.
            loop: a loop that runs in another thread; by default a new loop in a new thread.
        """
        self._agent: Callable[[Any], Awaitable[Any]] = agent
        self._batch = batch
        self._tasks: set[Future[list[TurnReply]]] = set()
        self._ready: deque[Future[list[TurnReply]]] = deque()
        self.wakeup, self._wakeup_sender = socket.socketpair()
        self.wakeup.setblocking(False)
        self._wakeup_sender.setblocking(False)
        self._thread: threading.Thread | None = None
        self._loop = loop or self._own_loop()

    def _own_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="ludex-agent", daemon=True)
        self._thread.start()
        return loop

    def dispatch(self, turns: list[Turn]) -> list[TurnReply]:
        """Start a task for these turns, and return the replies that are ready."""
        groups = [turns] if self._batch else [[turn] for turn in turns]
        for group in filter(None, groups):
            task = asyncio.run_coroutine_threadsafe(self._ask(group), self._loop)
            self._tasks.add(task)
            task.add_done_callback(self._on_done)
        answers: list[TurnReply] = []
        with contextlib.suppress(BlockingIOError):
            while self.wakeup is not None and self.wakeup.recv(4096):
                pass
        while self._ready:
            task = self._ready.popleft()
            if answers and (task.cancelled() or task.exception() is not None):
                # Finished replies are returned first; the next call raises the error.
                self._on_done(task)
                break
            self._tasks.discard(task)
            answers += task.result()
        return answers

    def _ask(self, turns: list[Turn]) -> Coroutine[Any, Any, list[TurnReply]]:
        async def answers() -> list[TurnReply]:
            if self._batch:
                return pair_moves(turns, await self._agent(turns))
            return [(turn, await self._agent(turn)) for turn in turns]

        return answers()

    def _on_done(self, task: Future[list[TurnReply]]) -> None:
        self._ready.append(task)
        # A full socket buffer has woken the reader already; a closed socket has no reader.
        with contextlib.suppress(OSError):
            self._wakeup_sender.send(b"!")

    def cancel(self) -> None:
        """Make the next :meth:`dispatch` raise ``CancelledError``; thread-safe."""
        task: Future[list[TurnReply]] = Future()
        task.set_exception(CancelledError())
        self._on_done(task)

    def close(self) -> None:
        """Cancel pending tasks, and stop the loop if this object created it."""
        for task in list(self._tasks):
            task.cancel()
        if self._thread is not None:
            asyncio.run_coroutine_threadsafe(_settle(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._thread = None
        if self.wakeup is not None:
            self.wakeup.close()
            self._wakeup_sender.close()
            self.wakeup = None


async def _settle() -> None:
    """Cancel all other tasks of this loop and wait for them."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


def pair_moves(turns: list[Turn], moves: Any) -> list[TurnReply]:
    """Pair each turn with its move.

    Raises:
        ValueError: the numbers of moves and turns differ.
    """
    found = list(moves)
    if len(found) != len(turns):
        raise ValueError(f"policy: expected {len(turns)} moves, got {len(found)}")
    return list(zip(turns, found, strict=True))


def is_async(agent: object) -> bool:
    """Return True if an agent is an ``async def``, or an object with an async ``__call__``."""
    call = getattr(agent, "__call__", None)  # noqa: B004 - the method itself is wanted
    return inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(call)
