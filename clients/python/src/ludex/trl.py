"""Environments for the trainers of TRL, whose models play by a tool.

::

    rows = ludex.trl.rows("tic_tac_toe", 256)
    trainer = GRPOTrainer(
        model,
        train_dataset=Dataset.from_list(rows),
        environment_factory=ludex.trl.environment("tic_tac_toe", "mcts sims=20"),
    )

The module does not import TRL, and needs no server before the first ``reset``.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from .llm import Episode, Reward, seed_rows
from .picture import Picture
from .prompting import rules
from .shared_server import connect

Observation = str | list[dict[str, Any]]
"""A text, or content blocks with a picture before the text."""


@dataclass(frozen=True, eq=False)
class EnvironmentFactory:
    """Settings of environments; each call creates one. It can be pickled.

    The attributes are the arguments of :func:`environment`.
    """

    game: str
    opponents: str | Sequence[str] = "random"
    _: KW_ONLY
    url: str | None = None
    token: str | None = None
    pictures: int | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> GameEnvironment:
        """Return an environment, which connects on its first ``reset``."""
        return GameEnvironment(self)


def environment(
    game: str,
    opponents: str | Sequence[str] = "random",
    *,
    url: str | None = None,
    token: str | None = None,
    pictures: int | None = None,
    tries: int = 3,
    reward: Reward | None = None,
    **options: Any,
) -> EnvironmentFactory:
    """Return a value for ``environment_factory`` of ``GRPOTrainer`` and ``AsyncGRPOTrainer``.

    The columns ``seed`` and ``seat`` of a row select the episode; :func:`rows` makes such rows. The
    environments have one tool, ``play``, and own the reward.

    Args:
        game: id of the game, or its whole string with parameters.
        opponents: agents of the server for the other seats, as for :class:`ludex.llm.Episode`.
        url: server; by default a local one that the environments of a process share.
        token: access token.
        pictures: size of the pictures that precede each text, in pixels; by default none. They
            need ``ludex[render]`` and a model that reads images.
        tries: number of refused answers in one turn that end the episode, as a forfeit.
        reward: how the reward follows from the return; by default it is the return.
        options: further arguments of :class:`ludex.llm.Episode`, such as ``rules="short"``.
    """
    options |= {"tries": tries, "reward": reward}
    return EnvironmentFactory(
        game, opponents, url=url, token=token, pictures=pictures, options=options
    )


class GameEnvironment:
    """An environment with one episode after the other.

    TRL makes every public method but ``reset`` and ``get_reward`` a tool. It never closes
    environments, so the connection ends with the object.
    """

    def __init__(self, factory: EnvironmentFactory) -> None:
        self._factory = factory
        self._episode: Episode | None = None

    def reset(
        self,
        seed: int | str | None = None,
        seat: int = 0,
        prompt: Sequence[Mapping[str, Any]] = (),
        **row: Any,
    ) -> Observation:
        """Start an episode, and return what the trainer appends to the prompt of the row.

        That is the first request, after the rules unless a message of the prompt has them.

        Args:
            seed: seed of the episode, as text if it exceeds the integers of the data set; without a
                seed, the series of episodes continues.
            seat: seat of the model.
            prompt: prompt of the row.
            row: further columns, which are ignored.

        Raises:
            LudexError: as :class:`ludex.llm.Episode`.
        """
        number = None if seed is None else int(seed)
        if self._episode is None:
            own = self._factory
            client = connect(own.url, own.token)
            options = {"seed": number, "seat": seat, **own.options}
            weakref.finalize(self, client.close).atexit = False
            self._episode = Episode(client, own.game, own.opponents, **options)
        else:
            self._episode.reset(number, seat=seat)
        system, question = self._episode.system, self._episode.question
        given = any(message["content"] == system for message in prompt)
        return self._observation(question if given else f"{system}\n\n{question}")

    def play(self, answer: str) -> Observation:
        """Answer the request for a move.

        Args:
            answer: Your answer: the move, in the form that the rules ask for.

        Returns:
            The next request for a move, or the result if the game is over.
        """
        # A model may write the object that the rules ask for without quoting it.
        text = answer if isinstance(answer, str) else json.dumps(answer)
        self.episode.answer(text)
        if self.episode.over:
            return f"The game is over. Your return is {self.episode.value:g}."
        return self._observation(self.episode.question)

    def get_reward(self) -> float:
        """Return the reward; before the end, that of an episode that the model does not finish."""
        return self.episode.reward

    @property
    def episode(self) -> Episode:
        """The episode, for reward functions that log its ``metrics``.

        Raises:
            RuntimeError: no episode has started.
        """
        if self._episode is None:
            raise RuntimeError("episode: expected a call of reset() first")
        return self._episode

    def _observation(self, text: str) -> Observation:
        size = self._factory.pictures
        if size is None:
            return text
        return [self._image(size), {"type": "text", "text": text}]

    def _image(self, size: int) -> dict[str, Any]:
        from PIL import Image

        picture: Picture = self.episode.env.picture(self.episode.seat)
        return {"type": "image", "image": Image.fromarray(picture.array(size))}


def rows(
    game: str,
    count: int,
    split: Literal["train", "eval"] = "train",
    *,
    seeds: Sequence[int] | None = None,
    params: Mapping[str, Any] | None = None,
    url: str | None = None,
    token: str | None = None,
    **settings: Any,
) -> list[dict[str, Any]]:
    """Return rows of a data set: ``prompt``, which has the rules, and ``seed`` and ``seat``.

    Args:
        game: id of the game, or its whole string with parameters.
        count: number of rows; the seats of a seed take turns.
        split: ``"train"`` or ``"eval"``, which have no seed in common.
        seeds: these seeds, each once per seat, instead of those of a split.
        params: parameters of the game.
        url: server; by default the shared local one.
        token: access token.
        settings: settings of prompts, as for :func:`environment`.

    Raises:
        LudexError: ``unknown_game``, ``bad_params``, ...
    """
    with connect(url, token) as client:
        system = rules(game, params=params, client=client, **settings)
        players = client.describe(game, params).players
    prompt = [{"role": "system", "content": system}, {"role": "user", "content": ""}]
    episodes = seed_rows(count, split, players=players, seeds=seeds)
    return [{"prompt": prompt, **row} for row in episodes]


def as_tool_calls(messages: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return a chat of supervised data as a model sees it here: its answers are calls of ``play``.

    Args:
        messages: messages ``{"role", "content"}``, such as :attr:`ludex.llm.Episode.messages`.
    """
    found: list[dict[str, Any]] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "assistant":
            call = {"name": "play", "arguments": {"answer": content}}
            calls = [{"type": "function", "function": call}]
            found.append({"role": "assistant", "content": "", "tool_calls": calls})
        elif any(earlier["role"] == "assistant" for earlier in found):
            found.append({"role": "tool", "name": "play", "content": content})
        else:
            found.append({"role": role, "content": content})
    return found
