"""Episodes in which language models play several seats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..answers import ReadAnswer
from ..client import Client
from .base import BaseEpisode
from .reward import Reward


class SelfPlayEpisode(BaseEpisode):
    """An episode with a language model on each seat ``"agent"``.

    ::

        while not episode.over:
            episode.answer({seat: models[seat](episode.messages(seat)) for seat in episode.waiting})

    Attributes:
        env: the environment.
        seed: the seed of the episode; ``None`` if it continues the series of the environment.
        tries: number of refused answers in one turn that end the episode.
    """

    def __init__(
        self,
        client: Client,
        game: str,
        seats: Sequence[str] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        seed: int | None = None,
        tries: int = 3,
        reward: Reward | None = None,
        max_steps: int | None = None,
        record: bool = False,
        **settings: Any,
    ) -> None:
        """Open an environment and start an episode.

        Args:
            client: connection to the server.
            game: id of the game, or its whole string with parameters.
            seats: the player of each seat: ``"agent"`` for a model, or an agent of the server; by
                default all are models.
            params: parameters of the game.
            seed: seed of the episode.
            tries: number of refused answers in one turn that end the episode, as a forfeit.
            reward: how the rewards follow from the returns; by default they are the returns.
            max_steps: truncate an episode after this many moves.
            record: store the episodes on the server.
            settings: settings of prompts, as for :class:`Episode`.

        Raises:
            LudexError: as :meth:`ludex.Client.open` and :meth:`ludex.Env.reset`.
            ValueError: ``tries`` is below 1, or no seat is ``"agent"``.
        """
        if seats is not None and "agent" not in seats:
            raise ValueError(f"seats: expected a seat 'agent', got {list(seats)}")
        super().__init__(
            client,
            game,
            params,
            seats,
            tries=tries,
            reward=reward,
            settings=settings,
            max_steps=max_steps,
            record=record,
        )
        try:
            self.reset(seed)
        except BaseException:
            self.env.close()
            raise

    def reset(self, seed: int | None = None) -> None:
        """Start the next episode.

        Args:
            seed: seed of the episode; without a seed, the series of episodes continues.

        Raises:
            LudexError: as :meth:`ludex.Env.reset`.
        """
        self._answers: dict[int, str] = {}
        self._start(seed)

    @property
    def seats(self) -> list[int]:
        """The seats of models, in ascending order."""
        return list(self._talks)

    @property
    def waiting(self) -> list[int]:
        """The seats whose answers are due now; several if they move at the same time."""
        prompts = self._state.prompt
        if self.over or prompts is None:
            return []
        return [s for s in self._talks if prompts[s] is not None and s not in self._answers]

    def answer(self, texts: Mapping[int, str]) -> dict[int, ReadAnswer]:
        """Play the answers of the models, and return them as read, by seat.

        If seats move at the same time and some answers are refused, the position does not change.
        Then :attr:`waiting` has only the seats of the refused answers; the others are kept.

        Args:
            texts: the answer of each seat in :attr:`waiting`.

        Raises:
            LudexError: ``env_over``: the episode is over; ``too_large``: a text is too long.
            ValueError: the seats are not those in :attr:`waiting`.
        """
        if not self.over and sorted(texts) != self.waiting:
            raise ValueError(f"answer: expected seats {self.waiting}, got {sorted(texts)}")
        reads = self._step({**self._answers, **texts})
        refused = any(not read.ok for read in reads.values())
        kept = {**self._answers, **texts}
        self._answers = {s: kept[s] for s, read in reads.items() if refused and read.ok}
        return {seat: reads[seat] for seat in texts}

    def messages(self, seat: int) -> list[dict[str, str]]:
        """Return the messages for the next call of the model of a seat, ``{"role", "content"}``."""
        return [dict(message) for message in self._talks[seat].messages]

    def value(self, seat: int) -> float:
        """Return the return of a seat.

        A model that forfeits has the game's least return; in a game of two seats, the other one
        has the greatest. Any other episode without an end has the game's least return.
        """
        return self._value(seat)

    def reward(self, seat: int) -> float:
        """Return the reward of a seat; before the end, that of an unfinished episode."""
        return self._reward_of(seat)

    def metrics(self, seat: int) -> dict[str, float]:
        """Return numbers about the episode of a seat, as :attr:`Episode.metrics`."""
        return self._metrics_of(seat)
