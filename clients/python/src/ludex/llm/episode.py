"""Episodes of a language model against agents of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from ..answers import ReadAnswer
from ..client import Client
from ..env import State
from ..errors import LudexError
from ..spec import Spec
from .reward import Reward

NO_ANSWER = "(no answer)"
"""Content of an empty answer in the conversation, because endpoints reject empty messages."""


class Episode:
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
        if tries < 1:
            raise ValueError(f"tries: expected at least 1, got {tries}")
        self.seat, self.tries, self._opponents = seat, tries, opponents
        self._reward = Reward() if reward is None else reward
        self._chat = settings.setdefault("prompting", "chat") == "chat"
        spec = client.describe(game, params)
        self.env = client.open(
            game,
            params,
            seats=_seats(spec, seat, opponents),
            views=["prompt"],
            prompt=settings,
            max_steps=max_steps,
            record=record,
        )
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
        spec = self.env.spec
        seats = None if seat is None else _seats(spec, seat, self._opponents)
        state = self.env.reset(seed, seats=seats)
        self.seat = self.seat if seat is None else seat
        self.seed, self._forfeit, self._refused = seed, False, 0
        self._counts = dict.fromkeys(("moves", "illegal", "unparsed", "empty"), 0)
        self._last: ReadAnswer | None = None
        self._messages: list[dict[str, str]] = []
        self._show(state)

    def answer(self, text: str) -> ReadAnswer:
        """Play the answer of the model, and return it as read.

        If it is not a legal move, the position does not change, and the next message tells the
        model the reason. After ``tries`` such answers in one turn, the episode is over.

        Raises:
            LudexError: ``env_over``: the episode is over; ``too_large``: the text is too long.
        """
        if self.over:
            raise LudexError("env_over", "the episode is over; call reset() for the next one")
        state = self.env.step(answer=text)
        read = state.answer
        if read is None:
            raise LudexError("protocol", "expected an answer in the reply to a step with an answer")
        self._last = read
        if read.ok:
            self._counts["moves"] += 1
            self._refused = 0
        else:
            self._counts[read.verdict] += 1
            self._refused += 1
            self._forfeit = self._refused >= self.tries
        if self._chat:
            content = text if text.strip() else NO_ANSWER
            self._messages.append({"role": "assistant", "content": content})
        self._show(state)
        return read

    def close(self) -> None:
        """Free the environment on the server. Safe to call twice."""
        self.env.close()

    @property
    def spec(self) -> Spec:
        """The game."""
        return self.env.spec

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages for the next call of the model, ``{"role", "content"}``.

        After the end of an episode the last message is the model's, in a conversation.
        """
        return [dict(message) for message in self._messages]

    @property
    def system(self) -> str:
        """The rules, the notation of moves and the form of the reply: the system message."""
        return self._messages[0]["content"]

    @property
    def question(self) -> str:
        """The position and the refused answers of the turn; empty at the end."""
        return "" if self.over else self._messages[-1]["content"]

    @property
    def refusal(self) -> str:
        """Words for the model about its refused answers in this turn; empty without any."""
        return self._last.message if self._last is not None else ""

    @property
    def over(self) -> bool:
        """True if the game is over, was truncated, or the model has used up its tries."""
        return self._state.over or self._forfeit

    @property
    def refused(self) -> int:
        """Number of refused answers in the episode."""
        return self._counts["illegal"] + self._counts["unparsed"] + self._counts["empty"]

    @property
    def value(self) -> float:
        """The return of the model's seat.

        An episode that the model forfeits or does not finish has the game's least return.
        """
        finished = self._state.over and not self._forfeit
        return self._state.returns[self.seat] if finished else self.spec.min_return

    @property
    def reward(self) -> float:
        """The reward; before the end, that of an episode that the model does not finish."""
        return self._reward.of(self.spec, self.value, self.refused)

    @property
    def metrics(self) -> dict[str, float]:
        """Numbers about the episode, for logs of a trainer.

        ``return``, ``moves`` of the model, refused answers by verdict (``illegal``, ``unparsed``,
        ``empty``), ``length`` in moves of all seats, and 1 or 0 for ``finished``, ``forfeit`` and
        ``truncated``.
        """
        return {
            "return": self.value,
            **{name: float(count) for name, count in self._counts.items()},
            "length": float(self._state.length),
            "finished": float(self._state.over and not self._forfeit),
            "forfeit": float(self._forfeit),
            "truncated": float(self._state.truncated),
        }

    def __enter__(self) -> Episode:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _show(self, state: State) -> None:
        """Add the prompt of a state to the messages."""
        self._state = state
        prompt = None if self.over or state.prompt is None else state.prompt[self.seat]
        if prompt is None:
            return
        if self._chat and self._messages:
            self._messages.append(prompt[-1])
        else:
            self._messages = list(prompt)


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
