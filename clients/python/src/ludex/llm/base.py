"""Base of the episodes: an environment and the conversation of each seat of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from ..answers import ReadAnswer
from ..client import Client
from ..env import State
from ..errors import LudexError
from ..spec import Spec
from .conversation import Conversation
from .reward import Reward

E = TypeVar("E", bound="BaseEpisode")


class BaseEpisode:
    """Base class of episodes.

    Attributes:
        env: the environment.
        seed: the seed of the episode; ``None`` if it continues the series of the environment.
        tries: number of refused answers in one turn that end the episode.
    """

    def __init__(
        self,
        client: Client,
        game: str,
        params: Mapping[str, Any] | None,
        seats: Sequence[str] | None,
        *,
        tries: int,
        reward: Reward | None,
        settings: dict[str, Any],
        **options: Any,
    ) -> None:
        if tries < 1:
            raise ValueError(f"tries: expected at least 1, got {tries}")
        self.tries = tries
        self._reward = Reward() if reward is None else reward
        self._chat = settings.setdefault("prompting", "chat") == "chat"
        self.env = client.open(
            game, params, seats=seats, views=["prompt"], prompt=settings, **options
        )

    def close(self) -> None:
        """Free the environment on the server. Safe to call twice."""
        self.env.close()

    @property
    def spec(self) -> Spec:
        """The game."""
        return self.env.spec

    @property
    def over(self) -> bool:
        """True if the game is over, was truncated, or a model has used up its tries."""
        return self._state.over or self._forfeit

    def __enter__(self: E) -> E:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _forfeit(self) -> bool:
        return any(talk.forfeit for talk in self._talks.values())

    def _start(self, seed: int | None, seats: Sequence[str] | None = None) -> None:
        """Start an episode, with new players of the seats if they are given."""
        state = self.env.reset(seed, seats=seats)
        self.seed = seed
        players = self.env.seats
        self._talks = {
            seat: Conversation(self.tries, chat=self._chat)
            for seat, player in enumerate(players)
            if player == "agent"
        }
        self._show(state, self._talks)

    def _step(self, texts: Mapping[int, str]) -> dict[int, ReadAnswer]:
        """Play the answers of the seats, and return them as read."""
        if self.over:
            raise LudexError("env_over", "the episode is over; call reset() for the next one")
        row: list[str | None] = [texts.get(seat) for seat in range(self.spec.players)]
        joint = self.env._joint
        state = self.env.step(answer=row if joint else next(iter(texts.values())))
        found = [read for read in state.answers or [] if read is not None]
        if len(found) != len(texts):
            raise LudexError("protocol", f"expected {len(texts)} answers, got {len(found)}")
        reads = dict(zip(sorted(texts), found, strict=True))
        # A legal answer of a joint turn is pending until the answers of all seats are legal.
        refused = [seat for seat, read in reads.items() if not read.ok]
        for seat in refused or reads:
            self._talks[seat].add(texts[seat], reads[seat])
        self._show(state, refused or self._talks)
        return reads

    def _show(self, state: State, seats: Iterable[int]) -> None:
        """Add the prompts of a state to the conversations of these seats."""
        self._state = state
        if self.over or state.prompt is None:
            return
        for seat in seats:
            self._talks[seat].show(state.prompt[seat])

    def _value(self, seat: int) -> float:
        """Return the return of a seat, where unfinished and forfeited episodes have a value too."""
        spec = self.spec
        if self._state.over and not self._forfeit:
            return self._state.returns[seat]
        others = [talk for other, talk in self._talks.items() if other != seat]
        if spec.players == 2 and any(talk.forfeit for talk in others):
            return spec.max_return
        return spec.min_return

    def _reward_of(self, seat: int) -> float:
        return self._reward.of(self.spec, self._value(seat), self._talks[seat].refused)

    def _metrics_of(self, seat: int) -> dict[str, float]:
        talk = self._talks[seat]
        return {
            "return": self._value(seat),
            **{name: float(count) for name, count in talk.counts.items()},
            "length": float(self._state.length),
            "finished": float(self._state.over and not self._forfeit),
            "forfeit": float(talk.forfeit),
            "truncated": float(self._state.truncated),
        }
