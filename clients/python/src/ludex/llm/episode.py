"""Episodes of a language model against agents of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..answers import ReadAnswer
from ..client import Client
from ..spec import Spec
from .base import BaseEpisode
from .conversation import Conversation
from .reward import Reward


class Episode(BaseEpisode):
    """An episode of a language model; :meth:`reset` starts the next one in the same environment.

    Attributes:
        env: the environment.
        seat: the seat of the model.
        seed: the seed of the episode; ``None`` if it continues the series of the environment.
        tries: number of refused answers in one turn that end the episode.
    """

    def __init__(
        self,
        client: Client,
        game: str,
        opponents: str | Sequence[str] = "random",
        *,
        params: Mapping[str, Any] | None = None,
        seat: int = 0,
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
            opponents: agents of the server for the other seats: one in seat order for each of
                them, or a single agent for all.
            params: parameters of the game.
            seat: seat of the model.
            seed: seed of the episode.
            tries: number of refused answers in one turn that end the episode, as a forfeit.
            reward: how the reward follows from the return; by default it is the return.
            max_steps: truncate an episode after this many moves.
            record: store the episodes on the server.
            settings: settings of prompts such as ``history=8``. With ``prompting="chat"``, the
                default, :attr:`messages` is one conversation; with other methods each request
                stands alone.

        Raises:
            LudexError: as :meth:`ludex.Client.open` and :meth:`ludex.Env.reset`.
            ValueError: ``tries`` is below 1.
        """
        self._opponents = opponents
        seats = _seats(client.describe(game, params), seat, opponents)
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
        self.seat = seat
        try:
            self.reset(seed)
        except BaseException:
            self.env.close()
            raise

    def reset(self, seed: int | None = None, *, seat: int | None = None) -> None:
        """Start the next episode.

        Args:
            seed: seed of the episode; without a seed, the series of episodes continues.
            seat: seat of the model from now on.

        Raises:
            LudexError: as :meth:`ludex.Env.reset`.
        """
        seats = None if seat is None else _seats(self.spec, seat, self._opponents)
        self._start(seed, seats)
        self.seat = self.seat if seat is None else seat

    def answer(self, text: str) -> ReadAnswer:
        """Play the answer of the model, and return it as read.

        If it is not a legal move, the position does not change, and the next message tells the
        model the reason. After ``tries`` such answers in one turn, the episode is over.

        Raises:
            LudexError: ``env_over``: the episode is over; ``too_large``: the text is too long.
        """
        return self._step({self.seat: text})[self.seat]

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages for the next call of the model, ``{"role", "content"}``.

        After the end of an episode the last message is the model's, in a conversation.
        """
        return [dict(message) for message in self._talk.messages]

    @property
    def system(self) -> str:
        """The rules, the notation of moves and the form of the reply: the system message."""
        return self._talk.messages[0]["content"]

    @property
    def question(self) -> str:
        """The position and the refused answers of the turn; empty at the end."""
        return "" if self.over else self._talk.messages[-1]["content"]

    @property
    def refusal(self) -> str:
        """Words for the model about its refused answers in this turn; empty without any."""
        last = self._talk.last
        return last.message if last is not None else ""

    @property
    def refused(self) -> int:
        """Number of refused answers in the episode."""
        return self._talk.refused

    @property
    def value(self) -> float:
        """The return of the model's seat.

        An episode that the model forfeits or does not finish has the game's least return.
        """
        return self._value(self.seat)

    @property
    def reward(self) -> float:
        """The reward; before the end, that of an episode that the model does not finish."""
        return self._reward_of(self.seat)

    @property
    def metrics(self) -> dict[str, float]:
        """Numbers about the episode, for logs of a trainer.

        ``return``, ``moves`` of the model, refused answers by verdict (``illegal``, ``unparsed``,
        ``empty``), ``length`` in moves of all seats, and 1 or 0 for ``finished``, ``forfeit`` and
        ``truncated``.
        """
        return self._metrics_of(self.seat)

    @property
    def _talk(self) -> Conversation:
        return self._talks[self.seat]


def _seats(spec: Spec, seat: int, opponents: str | Sequence[str]) -> list[str]:
    """Return the player of each seat.

    Raises:
        ValueError: the seat does not exist, or the number of opponents is wrong.
    """
    if not 0 <= seat < spec.players:
        raise ValueError(f"seat: expected a seat of {spec.game}, 0..{spec.players}, got {seat}")
    others = spec.players - 1
    agents = [opponents] * others if isinstance(opponents, str) else list(opponents)
    if len(agents) != others:
        raise ValueError(f"opponents: expected {others} for {spec.game}, got {len(agents)}")
    return [*agents[:seat], "agent", *agents[seat:]]
