"""Episodes of language models for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, TypeVar

from ..aio import AsyncClient, AsyncWrapper, WorkerThread, _async_method
from .base import BaseEpisode
from .episode import Episode
from .self_play import SelfPlayEpisode

B = TypeVar("B", bound=BaseEpisode)
A = TypeVar("A", bound="AsyncBaseEpisode[Any]")


class AsyncBaseEpisode(AsyncWrapper[B], Generic[B]):
    """Base class of episodes for asyncio."""

    _type: type[B]

    def __init__(self, sync: B, thread: WorkerThread) -> None:
        super().__init__(sync, thread)

    close = _async_method(BaseEpisode.close)

    @classmethod
    async def open(cls: type[A], client: AsyncClient, *args: Any, **kwargs: Any) -> A:
        """Open an environment and start an episode; for the arguments see the class without Async.

        Raises:
            LudexError: as :class:`Episode`.
        """
        return cls(await client._run(cls._type, *args, **kwargs), client._thread)

    @property
    def over(self) -> bool:
        """True if the episode is over."""
        return self.sync.over

    async def __aenter__(self: A) -> A:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class AsyncEpisode(AsyncBaseEpisode[Episode]):
    """An episode, opened by :meth:`open`; methods as in :class:`Episode`."""

    _type = Episode

    reset = _async_method(Episode.reset)
    answer = _async_method(Episode.answer)

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages for the next call of the model."""
        return self.sync.messages

    @property
    def system(self) -> str:
        """The system message."""
        return self.sync.system

    @property
    def question(self) -> str:
        """The current request; empty at the end."""
        return self.sync.question

    @property
    def refusal(self) -> str:
        """Words for the model about its refused answers in this turn."""
        return self.sync.refusal

    @property
    def reward(self) -> float:
        """The reward."""
        return self.sync.reward

    @property
    def metrics(self) -> dict[str, float]:
        """Numbers about the episode."""
        return self.sync.metrics


class AsyncSelfPlayEpisode(AsyncBaseEpisode[SelfPlayEpisode]):
    """An episode of several models, opened by :meth:`open`; methods as in :class:`SelfPlayEpisode`.

    Those that do not ask the server, such as ``reward``, are methods of ``sync``.
    """

    _type = SelfPlayEpisode

    reset = _async_method(SelfPlayEpisode.reset)
    answer = _async_method(SelfPlayEpisode.answer)

    @property
    def waiting(self) -> list[int]:
        """The seats whose answers are due now."""
        return self.sync.waiting

    def messages(self, seat: int) -> list[dict[str, str]]:
        """Return the messages for the next call of the model of a seat."""
        return self.sync.messages(seat)
