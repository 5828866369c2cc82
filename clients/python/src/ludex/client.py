"""Client of the gym plane: a connection to one or more servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from ._messages import (
    Autoreset,
    ChanceBy,
    GameEntry,
    MaskForm,
    Observer,
    OnIllegal,
    Rotate,
    SuiteEntry,
)
from .env import Env
from .sharded import ShardedVecEnv, open_shards
from .spec import Spec
from .transport.pool import SessionPool
from .transport.session import Session
from .vec import VecEnv

MAX_AGENT_NAME = 40
"""Maximum number of characters in an agent's name."""


class Client:
    """A connection to a Ludex server, resumed automatically after a loss.

    A client belongs to one thread of one process: a forked child or a second concurrent thread
    raises an error. Use it as a context manager or call :meth:`close`, so that the server frees its
    environments. For asyncio, use :mod:`ludex.aio`.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        token: str | Sequence[str | None] | None = None,
        *,
        patience: float | None = None,
    ) -> None:
        """Connect.

        Args:
            url: ``"ws://127.0.0.1:7878"`` (also ``wss://``, or only host and port); or a list of
                servers, over which :meth:`open_vec` spreads its environments. All other requests
                go to the first. Unreachable servers are excluded with a warning.
            token: access token, or a list with one for each server; optional for a server on
                loopback without tokens.
            patience: seconds to retry a lost connection; by default
                as long as the server keeps the session.

        Raises:
            LudexError: ``connection_lost`` if no server answers, ``unauthorized``, or another
                error of the server.
            ValueError: the numbers of tokens and servers differ.
        """
        self._pool = SessionPool(url, token, patience)

    @property
    def _session(self) -> Session:
        return self._pool.sessions[0]

    def set_servers(
        self, url: Sequence[str], token: str | Sequence[str | None] | None = None
    ) -> None:
        """Replace the servers of a client that was created with a list of servers.

        An open batch moves at its next reset of all environments. Until then its environments
        stay, also on a server that is no longer listed. Unreachable servers are excluded with a
        warning.

        Args:
            url: the servers, at least one.
            token: access token, or a list with one for each server.

        Raises:
            LudexError: ``bad_field`` if the client has a single URL or the list is empty;
                ``connection_lost`` if no server answers; or another error of a server.
            ValueError: the numbers of tokens and servers differ.
        """
        self._pool.replace(url, token)

    @property
    def server(self) -> str:
        """Name and version of the server, e.g. ``"ludex/0.1.0"``."""
        return str(self._session.welcome.get("server", ""))

    @property
    def scopes(self) -> list[str]:
        """The scopes of the token, any of ``gym, play, spectate, admin``."""
        return list(self._session.welcome.get("scopes") or [])

    @property
    def limits(self) -> dict[str, Any]:
        """The server's limits; ``limits["batch"]`` is the maximum of environments per handle."""
        return dict(self._session.limits)

    def games(self, /, **filters: Any) -> list[GameEntry]:
        """List the games of the server.

        Args:
            filters: any of ``information, chance, dynamics, players, text``; games must match all.

        Raises:
            LudexError: a filter is unknown.
        """
        reply = self._session.call("list_games", bound=False, filter=filters or None)
        games: list[GameEntry] = reply["games"]
        return games

    def describe(
        self, game: str, params: Mapping[str, Any] | None = None, *, rules_text: bool = False
    ) -> Spec:
        """Return the spec of a game; ``game`` may also be ``"breakthrough(rows=8,columns=3)"``.

        Raises:
            LudexError: ``unknown_game``, ``bad_params`` (``.nearest`` is the most similar name).
        """
        reply = self._session.call(
            "describe",
            bound=False,
            game=game,
            params=dict(params) if params else None,
            rules_text=rules_text or None,
        )
        return Spec.from_wire(reply["spec"])

    def suites(self) -> list[SuiteEntry]:
        """List the suites that the server offers for :func:`ludex.evaluate`.

        Raises:
            LudexError: ``unknown_type`` if the server has no suites.
        """
        reply = self._session.call("suites", bound=False)
        suites: list[SuiteEntry] = reply["suites"]
        return suites

    def withdraw(self, run: str, *, name: str | None = None) -> None:
        """End a run permanently. Running matches of this agent are lost.

        A concurrent :func:`ludex.evaluate` of the run returns with the results so far.

        Args:
            run: name of the run.
            name: name of the agent; by default that of the run.

        Raises:
            LudexError: ``unknown_run`` if the run is over, or this agent is not part of it.
        """
        agent = {"name": name or default_agent_name(run), "kind": "bot"}
        session = Session(self._session.urls, token=self._session.token, agent=agent)
        try:
            session.call("withdraw", run=run)
        finally:
            session.close()

    def open(
        self,
        game: str,
        params: Mapping[str, Any] | None = None,
        *,
        seats: Sequence[str] | None = None,
        chance: ChanceBy = "server",
        views: Sequence[str] = (),
        prompt: Mapping[str, Any] | None = None,
        layout: str | None = None,
        max_steps: int | None = None,
        record: bool = False,
    ) -> Env:
        """Open a single environment whose states are plain Python values.

        Args:
            game: id of the game, or its whole string with parameters.
            params: parameters.
            seats: the player of each seat: ``"agent"`` (this client) or an agent of the server
                such as ``"mcts sims=500"``; by default this client plays every seat.
            chance: ``"client"``: this client chooses the outcomes at chance nodes.
            views: views that every state includes, per seat: any of ``tensor, info, struct, text,
                prompt``.
            prompt: settings of prompts: ``{"prompting": "chat", "history": 8}``.
            layout: name of an alternative tensor layout, as listed in the spec.
            max_steps: truncate an episode after this many moves.
            record: store the episodes on the server.

        Raises:
            LudexError: an error from the server: ``unknown_game``, ``bad_params``,
                ``unknown_agent``, ``limit``, ...
        """
        request: dict[str, Any] = {
            **_game(game, params, seats),
            "chance": chance,
            "autoreset": "disabled",
            "views": ["returns", *views],
            "prompt": dict(prompt) if prompt else None,
            "layout": layout,
            "mask": "ids",
            "observer": "all",
            "max_steps": max_steps,
            "record": record or None,
        }
        return Env(self._session, self._session.call("open", bound=False, **request), request)

    def open_vec(
        self,
        game: str,
        num_envs: int,
        params: Mapping[str, Any] | None = None,
        *,
        shards: int | None = None,
        seats: Sequence[str] | Sequence[Sequence[str]] | None = None,
        rotate: Rotate = "none",
        chance: ChanceBy = "server",
        autoreset: Autoreset = "next_step",
        views: Sequence[str] | None = None,
        prompt: Mapping[str, Any] | None = None,
        layout: str | None = None,
        mask: MaskForm | None = None,
        observer: Observer = "acting",
        on_illegal: OnIllegal = "refuse",
        max_steps: int | None = None,
        record: bool = False,
    ) -> VecEnv | ShardedVecEnv:
        """Open a batch of ``num_envs`` environments.

        With several servers, environments are spread evenly and in order; results do not change.

        Args:
            game: id of the game, or its whole string with parameters.
            num_envs: number of environments, at most ``limits["batch"]`` on each server.
            params: parameters.
            shards: number of handles, over which the environments are spread evenly and in order;
                by default one for each server. Handles are stepped concurrently, and
                :meth:`ludex.ShardedVecEnv.recv` returns those that are ready.
            seats: the player of each seat: ``"agent"`` (this client) or an agent of the server;
                by default this client plays every seat. With ``shards``, a list of such lists,
                which the handles use in turn.
            rotate: ``"cycle"``: in episode e seat k is played by ``seats[(k + e) % P]``;
                ``"random"``: the shift is drawn for each episode.
            chance: ``"client"``: the actions at chance nodes are outcome ids.
            autoreset: Gymnasium's modes: ``"next_step"``, ``"same_step"`` (the last view of an
                ended episode is in ``batch.final``), ``"disabled"``.
            views: any of ``tensor, info, struct, text, prompt, returns``; by default the tensor.
            prompt: settings of prompts: ``{"prompting": "chat", "history": 8}``.
            layout: alternative tensor layout, if the spec lists it.
            mask: form of the legal actions: ``"u1"`` bytes, ``"bits"``, ``"ids"`` or ``"none"``;
                by default bytes up to 512 actions, else ids.
            observer: ``"all"``: views of every seat; ``"acting"``: that of the seat to move.
            on_illegal: ``"lose"``: an illegal action loses the episode; by default it is refused.
            max_steps: truncate an episode after this many moves.
            record: keep the episodes on the server.

        Raises:
            LudexError: an error from the server: ``unknown_game``, ``bad_params``,
                ``unknown_agent``, ``limit``, ...
            ValueError: ``shards`` is not in 1..=``num_envs``, or the lists of ``seats`` do not fit.
        """
        handles = self._pool.shares(int(num_envs), shards)
        seatings = _seatings(seats, len(handles))
        request: dict[str, Any] = {
            **_game(game, params, None),
            "rotate": rotate,
            "chance": chance,
            "autoreset": autoreset,
            "views": list(views) if views is not None else None,
            "prompt": dict(prompt) if prompt else None,
            "layout": layout,
            "mask": mask,
            "observer": observer,
            "on_illegal": on_illegal,
            "max_steps": max_steps,
            "record": record or None,
        }
        opened = open_shards(
            (session, {**request, "seats": seatings[index % len(seatings)], "count": count})
            for index, (session, count) in enumerate(handles)
        )
        if len(opened) == 1 and not self._pool.elastic:
            return opened[0]
        per_server = shards is None and len(seatings) == 1
        return ShardedVecEnv(self._pool, opened, per_server=per_server)

    @property
    def closed(self) -> bool:
        """True if :meth:`close` was called."""
        return self._session.closed

    def close(self) -> None:
        """Close all environments and the connections. Safe to call twice."""
        self._pool.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def default_agent_name(run: str) -> str:
    """Return the default name of an agent, derived from the name of the run."""
    return run[:MAX_AGENT_NAME]


def _game(
    game: str, params: Mapping[str, Any] | None, seats: Sequence[str] | None
) -> dict[str, Any]:
    """Return the fields of an ``open`` message for the game and the seats."""
    return {
        "game": game,
        "params": dict(params) if params else None,
        "seats": list(seats) if seats is not None else None,
    }


def _seatings(
    seats: Sequence[str] | Sequence[Sequence[str]] | None, handles: int
) -> list[list[str] | None]:
    """Return the lists of players that the handles use in turn.

    Raises:
        ValueError: there are more lists than handles, or the client has more seats in one of them.
    """
    if seats is None:
        return [None]
    lists = [entry for entry in seats if not isinstance(entry, str)]
    if not lists:
        return [[str(entry) for entry in seats]]
    if len(lists) > handles:
        raise ValueError(f"seats: expected at most {handles} lists (shards), got {len(lists)}")
    if len({list(entry).count("agent") for entry in lists}) > 1:
        raise ValueError("seats: expected lists with equal numbers of seats of this client")
    return [list(entry) for entry in lists]
