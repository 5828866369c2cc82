"""Episodes of a language model for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..aio import AsyncClient, AsyncWrapper, WorkerThread, _async_method
from .episode import Episode


class AsyncEpisode(AsyncWrapper[Episode]):
    """An episode, opened by :meth:`open`; methods as in :class:`Episode`."""

    def __init__(self, sync: Episode, thread: WorkerThread) -> None:
        super().__init__(sync, thread)

    reset = _async_method(Episode.reset)
    answer = _async_method(Episode.answer)
    close = _async_method(Episode.close)

    @classmethod
    async def open(cls, client: AsyncClient, *args: Any, **kwargs: Any) -> AsyncEpisode:
        """Open an environment and start an episode; for the arguments see :class:`Episode`.

        Raises:
            LudexError: as :class:`Episode`.
        """
        return cls(await client._run(Episode, *args, **kwargs), client._thread)

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
    def over(self) -> bool:
        """True if the episode is over."""
        return self.sync.over

    @property
    def reward(self) -> float:
        """The reward."""
        return self.sync.reward

    @property
    def metrics(self) -> dict[str, float]:
        """Numbers about the episode."""
        return self.sync.metrics

    async def __aenter__(self) -> AsyncEpisode:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
