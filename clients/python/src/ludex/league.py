"""Leagues: payoff tables of policies and agents, and distributions over them, as for PSRO.

::

    with ludex.league.League("kuhn_poker", pairs=500) as league:
        league.add("random", "random")
        for step in range(8):
            policy = best_response(league.pool("nash"))  # train against a sampled opponent
            league.add(f"response {step}", policy)
        print(league.payoffs(), league.strategy("nash"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from . import meta_strategies
from .adapters.head_to_head import play_pair
from .adapters.learner_envs import Opponent
from .client import Client
from .columns import Array
from .matches.rating import Rating, rate
from .meta_strategies import MetaStrategy
from .shared_server import shared_url

__all__ = ["League", "MetaStrategy", "Payoffs"]


@dataclass(frozen=True)
class Payoffs:
    """Payoffs of the n members of a league; ``str()`` returns a table.

    Attributes:
        names: names of the members.
        mean: mean return of member a (row) against member b (column), ``float64 [n, n]``.
        low: lower end of the 95 % interval of the mean, ``float64 [n, n]``.
        high: upper end.
        games: number of episodes behind each mean, ``int64 [n, n]``; 0 on the diagonal of
            zero-sum and constant-sum games, where the payoff is known.
    """

    names: list[str]
    mean: Array
    low: Array
    high: Array
    games: Array

    def __str__(self) -> str:
        width = max([len(name) for name in self.names] + [7])
        head = " ".join(f"{name:>{width}}" for name in ["", *self.names])
        rows = [
            " ".join([f"{name:>{width}}", *(f"{value:>{width}.3f}" for value in row)])
            for name, row in zip(self.names, self.mean, strict=True)
        ]
        return "\n".join([head, *rows])


class League:
    """Players of a game with two seats, and the games between them.

    The members are agents of the server (``"mcts sims=100"``), or policies: functions from
    observations ``[k, ...]`` and masks ``int8 [k, A]`` to k actions. A member must not change
    after it was added. Use the league as a context manager, or close it.

    Attributes:
        spec: the game.
        members: the players by name, in the order of their addition.
    """

    def __init__(
        self,
        game: str,
        *,
        pairs: int = 200,
        params: Mapping[str, Any] | None = None,
        seed: int = 0,
        url: str | None = None,
        token: str | None = None,
    ) -> None:
        """Connect.

        Args:
            game: id of the game, or the game string with parameters.
            pairs: number of pairs of games that two members play. The games of a pair have the same
                seed and exchanged seats.
            params: parameters of the game.
            seed: seed of the first pair of games; all members play the same seeds.
            url: the server; by default the local one of this process.
            token: access token.

        Raises:
            LudexError: ``unknown_game``, ...
            ValueError: the game does not have two seats.
        """
        self._url, self._token = shared_url() if url is None else url, token
        self._client = Client(self._url, token)
        self.spec = self._client.describe(game, params)
        if self.spec.players != 2:
            self._client.close()
            raise ValueError(f"{game}: expected two seats, got {self.spec.players}")
        self.members: dict[str, Opponent] = {}
        self._pairs, self._seed = pairs, seed
        # Returns of both members, `[pairs, 2, 2]`: pair, game, member.
        self._returns: dict[tuple[str, str], Array] = {}

    def add(self, name: str, player: Opponent) -> None:
        """Add a member; :meth:`play` plays its games.

        Raises:
            ValueError: the name is taken.
        """
        if name in self.members:
            raise ValueError(f"name: expected a new one, got {name!r}")
        self.members[name] = player

    def play(self) -> None:
        """Play the games of all pairs of members that have not met.

        Raises:
            LudexError: ``unknown_agent``, ...; ``not_installed``: games of two agents of the server
                need the program ``ludex`` on this machine.
            ValueError: a policy returned an illegal action.
        """
        names = list(self.members)
        with_itself = self._sum is None
        for index, first in enumerate(names):
            for second in names[index if with_itself else index + 1 :]:
                if (first, second) not in self._returns:
                    players = self.members[first], self.members[second]
                    self._returns[first, second] = play_pair(
                        self._client, self.spec, players, self._pairs, self._seed
                    )

    @property
    def _sum(self) -> float | None:
        """The sum of the returns of both seats, if it is constant."""
        if self.spec.utility not in ("zero_sum", "constant_sum"):
            return None
        return (
            0.0 if self.spec.utility == "zero_sum" else self.spec.min_return + self.spec.max_return
        )

    def payoffs(self) -> Payoffs:
        """Return the payoff table, after playing missing games.

        The unit of the interval is the pair of games: the mean plus or minus 1.96 standard errors
        over pairs.

        Raises:
            LudexError: as :meth:`play`.
            ValueError: as :meth:`play`.
        """
        self.play()
        names = list(self.members)
        mean = np.full((len(names), len(names)), (self._sum or 0.0) / 2)
        error, games = np.zeros_like(mean), np.zeros_like(mean, np.int64)
        for (first, second), returns in self._returns.items():
            a, b = names.index(first), names.index(second)
            by_pair = returns.mean(axis=1)
            if a == b:
                by_pair = by_pair.mean(axis=1, keepdims=True).repeat(2, axis=1)
            for row, column, values in ((a, b, by_pair[:, 0]), (b, a, by_pair[:, 1])):
                mean[row, column] = values.mean()
                spread = values.std(ddof=1) if len(values) > 1 else np.inf
                error[row, column] = 1.96 * spread / np.sqrt(len(values))
                games[row, column] = 2 * len(values)
        return Payoffs(names, mean, mean - error, mean + error, games)

    def strategy(self, kind: MetaStrategy = "nash", **settings: Any) -> Array:
        """Return a distribution over the members, ``float64 [n]``, after playing missing games.

        Args:
            kind: ``"uniform"``; ``"nash"``: an approximate equilibrium of the game with the payoff
                differences; ``"alpha_rank"``: the masses of the metric of the same name.
            settings: arguments of the function in :mod:`ludex.meta_strategies`, such as ``alpha``.

        Raises:
            LudexError: as :meth:`play`.
            ValueError: the strategy does not exist, or there are no members.
        """
        kinds = {
            "uniform": meta_strategies.uniform,
            "nash": meta_strategies.nash,
            "alpha_rank": meta_strategies.alpha_rank,
        }
        if kind not in kinds:
            raise ValueError(f"kind: got {kind!r}; allowed: {', '.join(map(repr, kinds))}")
        if not self.members:
            raise ValueError("strategy(): expected at least one member; call add() first")
        masses: Array = kinds[kind](self.payoffs().mean, **settings)
        return masses

    def pool(self, kind: MetaStrategy = "nash", size: int = 32, **settings: Any) -> list[Opponent]:
        """Return ``size`` members in the proportions of a strategy, for training environments.

        An environment with this list as ``opponent`` draws one of them for each episode.

        Args:
            kind: as for :meth:`strategy`.
            size: number of entries.
            settings: as for :meth:`strategy`.

        Raises:
            LudexError: as :meth:`play`.
            ValueError: as :meth:`strategy`.
        """
        shares = self.strategy(kind, **settings) * size
        counts = np.floor(shares).astype(int)
        for index in np.argsort(counts - shares, kind="stable")[: size - counts.sum()]:
            counts[index] += 1
        players: Sequence[Opponent] = list(self.members.values())
        return [player for player, count in zip(players, counts, strict=True) for _ in range(count)]

    def rate(self, name: str, **options: Any) -> Rating:
        """Rate a policy of the league against the game's anchors with :func:`ludex.rate`.

        Args:
            name: name of the member.
            options: arguments of :func:`ludex.rate`: ``anchors``, ``games``, ...

        Raises:
            KeyError: the league has no such member.
            LudexError: as :func:`ludex.rate`.
            TypeError: the member is an agent of the server.
        """
        player = self.members[name]
        if isinstance(player, str):
            raise TypeError(f"{name}: expected a policy, got the agent {player!r}")
        settings = {"params": self.spec.params, "url": self._url, "token": self._token, **options}
        return rate(player, self.spec.game, **settings)

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        self._client.close()

    def __enter__(self) -> League:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
