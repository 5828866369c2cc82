"""The asyncio client, with the methods of the synchronous client as coroutines.

::

    async with await ludex.aio.connect("ws://127.0.0.1:7878") as client:
        env = await client.open("connect_four", seats=["agent", "mcts sims=100"])
        state = await env.reset(seed=7)
        while not state.over:
            state = await env.step(await choose(state))

A client has one connection and one worker thread, which runs the client's calls in order. The event
loop is never blocked. If environments should not wait for each other's opponents, open a client for
each; a program may have hundreds of clients.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from . import client as sync
from .env import Env as SyncEnv
from .matches import evaluation
from .matches import play as sync_play
from .matches.dispatch import AsyncDispatcher
from .matches.result import MatchResult
from .matches.run_result import RunResult
from .matches.turn import Turn
from .sharded import ShardedVecEnv
from .spec import Spec
from .transport.guard import ChangeGuard
from .vec import VecEnv as SyncVecEnv

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
W = TypeVar("W")


class WorkerThread:
    """A worker thread that runs the calls of a client in order."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ludex")

    async def run(self, do: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a call and await its result. A cancelled call still runs to completion."""
        call = functools.partial(do, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def end(self) -> None:
        """End the thread after the pending calls."""
        self._pool.shutdown(wait=False)


class AsyncWrapper(Generic[S]):
    """A wrapper whose methods are coroutines.

    Attributes:
        sync: the synchronous object; use it only while no call is pending.
    """

    def __init__(self, sync: S, thread: WorkerThread) -> None:
        self.sync = sync
        self._thread = thread

    async def _run(self, do: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        try:
            return await self._thread.run(do, self.sync, *args, **kwargs)
        except asyncio.CancelledError:
            if isinstance(self.sync, ChangeGuard):
                # The call may change the environment, but its result is lost.
                self._thread._pool.submit(_unconfirmed, self.sync)
            raise


def _unconfirmed(changes: ChangeGuard) -> None:
    changes._unconfirmed = True


def _async_method(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[AsyncWrapper[Any], P], Coroutine[Any, Any, R]]:
    """Return the coroutine method for a synchronous method."""

    @functools.wraps(method)
    async def call(self: AsyncWrapper[Any], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._run(method, *args, **kwargs)

    return call


def _async_method_of_both(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[AsyncWrapper[Any], P], Coroutine[Any, Any, R]]:
    """Return the coroutine method for a method of ``VecEnv`` and ``ShardedVecEnv``."""
    name = method.__name__

    @functools.wraps(method)
    async def call(self: AsyncWrapper[Any], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._run(getattr(type(self.sync), name), *args, **kwargs)

    return call


def _async_opener(
    method: Callable[Concatenate[Any, P], R], wrap: Callable[[R, WorkerThread], W]
) -> Callable[Concatenate[AsyncWrapper[Any], P], Coroutine[Any, Any, W]]:
    """Return the coroutine method for a synchronous method whose result ``wrap`` wraps."""

    @functools.wraps(method)
    async def call(self: AsyncWrapper[Any], /, *args: P.args, **kwargs: P.kwargs) -> W:
        return wrap(await self._run(method, *args, **kwargs), self._thread)

    return call


class AsyncEnv(AsyncWrapper[SyncEnv]):
    """An environment, opened by :meth:`AsyncClient.open`; methods as in :class:`ludex.Env`."""

    reset = _async_method(SyncEnv.reset)
    step = _async_method(SyncEnv.step)
    text = _async_method(SyncEnv.text)
    picture = _async_method(SyncEnv.picture)
    struct = _async_method(SyncEnv.struct)
    tensor = _async_method(SyncEnv.tensor)
    info = _async_method(SyncEnv.info)
    action_text = _async_method(SyncEnv.action_text)
    action_texts = _async_method(SyncEnv.action_texts)
    parse = _async_method(SyncEnv.parse)
    read_answer = _async_method(SyncEnv.read_answer)
    snapshot = _async_method(SyncEnv.snapshot)
    restore = _async_method(SyncEnv.restore)
    close = _async_method(SyncEnv.close)

    @property
    def spec(self) -> Spec:
        """The game."""
        return self.sync.spec

    async def prompt(self, seat: int | None = None, **settings: Any) -> list[dict[str, str]]:
        """Return the prompt for a language model in a seat, like :meth:`ludex.Env.prompt`."""
        return await self._run(SyncEnv.prompt, seat, **settings)

    async def clone(self, *, seed: int | None = None) -> AsyncEnv:
        """Return a new environment with the same state, like :meth:`ludex.Env.clone`."""
        return AsyncEnv(await self._run(SyncEnv.clone, seed=seed), self._thread)


class AsyncVecEnv(AsyncWrapper[SyncVecEnv | ShardedVecEnv]):
    """A batch, opened by :meth:`AsyncClient.open_vec`; methods as in :class:`ludex.VecEnv`."""

    reset = _async_method_of_both(SyncVecEnv.reset)
    step = _async_method_of_both(SyncVecEnv.step)
    text = _async_method_of_both(SyncVecEnv.text)
    picture = _async_method_of_both(SyncVecEnv.picture)
    struct = _async_method_of_both(SyncVecEnv.struct)
    snapshot = _async_method_of_both(SyncVecEnv.snapshot)
    restore = _async_method_of_both(SyncVecEnv.restore)
    close = _async_method_of_both(SyncVecEnv.close)

    @property
    def spec(self) -> Spec:
        """The game."""
        return self.sync.spec

    @property
    def num_envs(self) -> int:
        """Number of environments."""
        return self.sync.num_envs


class AsyncClient(AsyncWrapper[sync.Client]):
    """A connection, opened by :func:`connect`; methods as in :class:`ludex.Client`."""

    open = _async_opener(sync.Client.open, AsyncEnv)
    open_vec = _async_opener(sync.Client.open_vec, AsyncVecEnv)
    games = _async_method(sync.Client.games)
    describe = _async_method(sync.Client.describe)
    suites = _async_method(sync.Client.suites)
    withdraw = _async_method(sync.Client.withdraw)
    set_servers = _async_method(sync.Client.set_servers)

    async def close(self) -> None:
        """Close all environments and the connection. Safe to call twice."""
        if not self.sync.closed:
            await self._run(sync.Client.close)
            self._thread.end()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


async def connect(
    url: str | Sequence[str],
    token: str | Sequence[str | None] | None = None,
    *,
    patience: float | None = None,
) -> AsyncClient:
    """Connect; for the arguments see :class:`ludex.Client`.

    Raises:
        LudexError: ``connection_lost`` if no server answers, or an error from the server.
    """
    thread = WorkerThread()
    try:
        return AsyncClient(await thread.run(sync.Client, url, token, patience=patience), thread)
    except BaseException:
        thread.end()
        raise


async def play(
    url: str | Sequence[str],
    *,
    agent: Callable[[Turn], Awaitable[Any]],
    **options: Any,
) -> list[MatchResult]:
    """Play matches with an async agent; for the other arguments see :func:`ludex.play`.

    Raises:
        LudexError: as :func:`ludex.play`.
    """
    loop, thread = asyncio.get_running_loop(), WorkerThread()
    pending: list[concurrent.futures.Future[Any]] = []

    async def choose(turn: Turn) -> Any:
        return await agent(turn)

    def ask(turn: Turn) -> Any:
        pending[:] = [asyncio.run_coroutine_threadsafe(choose(turn), loop)]
        return pending[0].result()

    try:
        return await thread.run(sync_play.play, url, agent=ask, **options)
    except asyncio.CancelledError:
        # Without a reply of the agent, the matches end.
        for reply in pending:
            reply.cancel()
        raise
    finally:
        thread.end()


async def evaluate(
    url: str | None,
    suite: str | os.PathLike[str] | None,
    agent: Callable[[Any], Awaitable[Any]],
    run: str = "mine",
    *,
    batch: bool = False,
    **options: Any,
) -> RunResult:
    """Play a suite with an async agent, which receives turns of several matches concurrently.

    For the other arguments see :func:`ludex.evaluate`. ``on_progress`` and ``on_event`` run in
    another thread.

    Raises:
        LudexError: as :func:`ludex.evaluate`.
    """
    thread = WorkerThread()
    dispatcher = AsyncDispatcher(agent, batch=batch, loop=asyncio.get_running_loop())
    playing = asyncio.ensure_future(
        thread.run(evaluation.evaluate, url, suite, dispatcher, run, **options)
    )
    try:
        return await asyncio.shield(playing)
    except asyncio.CancelledError:
        dispatcher.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        raise
    finally:
        dispatcher.close()
        thread.end()
