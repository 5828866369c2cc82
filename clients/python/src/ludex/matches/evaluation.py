"""Evaluation of an agent by a suite of a server: ``ludex.evaluate`` (docs/runs.md)."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..client import Client, default_agent_name
from ..errors import LudexError
from ..process import serve
from ..transport.session import Session
from ..transport.wire import Message, normalize_url
from .dispatch import (
    AsyncAgent,
    AsyncDispatcher,
    AsyncPolicy,
    BatchDispatcher,
    Dispatcher,
    Policy,
    SequentialDispatcher,
    is_async,
)
from .player import GONE_CODES, Event, Key, Player, SeatKey
from .progress import Bar, OnProgress, Progress
from .run_result import RunResult
from .turn import Agent


def evaluate(
    url: str | None,
    suite: str | os.PathLike[str] | None,
    agent: Agent | AsyncAgent | Policy | AsyncPolicy,
    run: str = "mine",
    *,
    name: str | None = None,
    version: str | None = None,
    kind: str = "bot",
    batch: bool = False,
    scale: float = 1.0,
    slots: int = 4,
    only: Sequence[str] | None = None,
    roles: Mapping[str, Sequence[str]] | None = None,
    variants: Sequence[str] = (),
    candidates: int = 1,
    views: Sequence[str] = ("struct", "texts"),
    prompt: Mapping[str, Any] | None = None,
    layout: str | None = None,
    data: str | os.PathLike[str] | None = None,
    args: Sequence[str] = (),
    token: str | None = None,
    patience: float | None = None,
    progress: bool = True,
    on_progress: OnProgress | None = None,
    on_event: Event | None = None,
) -> RunResult:
    """Evaluate an agent: play a suite against opponents on a server, and return the verdict.

    The server plans the matches, plays the other seats, stores the records and computes the
    verdict. To continue an interrupted run, repeat the call: after a lost connection, Ctrl-C, an
    exception of the agent, or a restart of either side. Running matches are resumed. While no
    client is connected, their clocks are paused, so no match is lost on time.

    Args:
        url: server URL; ``None`` starts a server for the duration of this call.
        suite: name of a suite of the server (:meth:`ludex.Client.suites`); with ``url=None`` also
            the path of a TOML file; ``None`` for a run that exists already.
        agent: called with each :class:`Turn`, returns the move, as in :func:`ludex.play`. An
            ``async def`` receives the turns of several matches concurrently, in an event loop in
            another thread. In parts that seat one agent several times in a match, each seat has
            turns of its own: keep the state of an agent by ``(turn.match, turn.seat)``.
        run: name of the run on this server: 1 to 64 lowercase letters, digits, ``_`` and ``-``.
        name: name of the agent, to which the run is bound; by default that of the run.
        version: version of the agent.
        kind: ``bot``, ``llm``, ``human`` or ``learner``.
        batch: True if the agent is a batch policy: it takes a list of turns of different matches or
            seats, from at most ``slots`` matches, and returns a move for each.
        scale: fraction of the suite to play, above 0 and at most 1.
        slots: number of concurrent matches, however many seats of a match the agent has. The clock
            of a turn starts when the turn is sent, so a synchronous agent shares the time per move
            among ``slots`` matches.
        only: the parts of the suite to play; by default all.
        roles: agents of the server that fill roles of the suite, by role, such as
            ``{"reference": ["mcts sims=100"]}``; by default the suite's own.
        variants: labels of the agent's variants, such as its settings to compare. Each plays the
            whole suite with deals of its own; ``turn.start["variant"]`` names that of a match.
        candidates: number of agents in the run. The run starts when all agents have enrolled; each
            makes its own call with the same ``run`` and a different ``name``.
        views: any of ``struct, text, tensor, info, texts, picture, prompt``; ``texts`` are the
            names of legal ids.
        prompt: settings of the view ``prompt`` and of :class:`Answer`, such as ``history=8``.
        layout: alternative tensor layout, which all games of the suite must have.
        data: with ``url=None``, the data folder of the server, required to continue the run later;
            by default a temporary folder.
        args: with ``url=None``, further arguments of ``ludex serve``.
        token: access token.
        patience: seconds to retry a lost connection; by default as
            long as the server keeps the session.
        progress: display progress on standard error, if that is a terminal.
        on_progress: called with a :class:`Progress` at the start and after each match.
        on_event: called with every raw event, as in :func:`ludex.play`, and with ``progress`` and
            ``run_end``.

    Raises:
        LudexError: an error from the server: ``unknown_suite``, ``forbidden`` (a run of another
            owner), ``conflict`` (the run was created with other settings: ``.path`` is the setting
            and ``.allowed`` its value), ``bad_field``, ``limit``, ...; or ``connection_lost``;
            ``not_installed`` if the program is missing.
        TypeError: the agent returned an invalid type.
        ValueError: a policy did not return a move for each turn.
        Exception: any exception of the agent; its matches are paused.
    """
    if candidates > 1 and name is None:
        raise LudexError(
            "bad_field", "name: expected a name for each of several candidates", path="name"
        )
    identity = {"name": name or default_agent_name(run), "version": version, "kind": kind}
    enrol = {
        "run": run,
        "scale": scale,
        "slots": slots,
        "only": list(only) if only is not None else None,
        "roles": {role: list(agents) for role, agents in roles.items()} if roles else None,
        "variants": list(variants) or None,
        "candidates": candidates,
        "views": list(views),
        "prompt": dict(prompt) if prompt else None,
        "layout": layout,
    }
    dispatcher = dispatcher_for(agent, batch)
    with contextlib.ExitStack() as ending:
        ending.callback(dispatcher.close)
        bar = Bar() if progress and sys.stderr.isatty() else None
        if bar is not None:
            ending.callback(bar.close)
        where, suite_name = url, None if suite is None else os.fspath(suite)
        if where is None:
            suite_file = suite_name is not None and _is_file(suite_name)
            offered = ["--suite", suite_name] if suite_file and suite_name else []
            server = serve(data, args=["--drain-timeout", "0", *offered, *args])
            ending.callback(server.close)
            where = server.url
            if suite_file:
                suite_name = _only_suite(where)
        elif suite_name is not None and _is_file(suite_name):
            raise LudexError(
                "bad_field",
                "suite: expected the name of a suite of the server, got a file; to offer the "
                "file, start the server with `ludex serve --suite FILE`",
                path="suite",
                got=suite_name,
            )

        def report(standing: Progress) -> None:
            if bar is not None:
                bar.show(standing)
            if on_progress is not None:
                on_progress(standing)

        player = _Runner(dispatcher, {"suite": suite_name, **enrol}, report, on_event)
        session = Session(
            where,
            token=token,
            agent={key: value for key, value in identity.items() if value is not None},
            patience=patience,
            on_welcome=player.on_welcome,
        )
        ending.callback(session.close)
        player.run(session)
        over = player.over
        if over is None:
            raise LudexError(
                "draining",
                f"the server is shutting down; repeat the call to continue {run} after its restart",
                fault="server",
                retry=True,
            )
        result = RunResult(over, _page(where, str(over.get("report", ""))), token)
        if url is None:
            _ = result.report_html  # before the server exits
            result.report_url = _report_file(data, run)
        return result


def dispatcher_for(agent: Any, batch: bool) -> Dispatcher:
    """Return the dispatcher for an agent."""
    if isinstance(agent, Dispatcher):
        return agent
    if not callable(agent):
        raise TypeError(f"agent: expected a function of turns, got {agent!r}")
    if is_async(agent):
        return AsyncDispatcher(agent, batch=batch)
    return BatchDispatcher(agent) if batch else SequentialDispatcher(agent)


def _is_file(suite: str) -> bool:
    return suite.endswith(".toml") or os.path.sep in suite


def _only_suite(url: str) -> str:
    """Return the name of a server's suite, which must be the only one."""
    with Client(url) as client:
        (entry,) = client.suites()
    return entry["suite"]


def _page(url: str, path: str) -> str:
    """Return the URL of a page of the server."""
    parts = urlsplit(normalize_url(url))
    scheme = "https" if parts.scheme == "wss" else "http"
    return f"{scheme}://{parts.netloc}{path}"


def _report_file(data: str | os.PathLike[str] | None, run: str) -> str | None:
    if data is None:
        return None
    return (Path(data).resolve() / "runs" / run / "report.html").as_uri()


class _Runner(Player):
    """Plays the matches of a run.

    Attributes:
        over: the ``run_end`` message, if the run has ended.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        enrol: dict[str, Any],
        on_progress: OnProgress,
        on_event: Event | None,
    ) -> None:
        super().__init__(dispatcher, on_event)
        self.over: Message | None = None
        self._enrol = enrol
        self._on_progress = on_progress
        # True if `enrol` was sent since the last welcome.
        self._sent = False
        # Moves refused because the session did not hold the seat; sent again later.
        self._deferred: dict[SeatKey, tuple[Key, dict[str, Any]]] = {}

    def _is_done(self) -> bool:
        return self.over is not None or (self._no_more and not self._matches)

    def _is_due(self) -> bool:
        return not self._sent and not self._no_more

    def _request(self) -> int | None:
        self._sent = True
        return self._session.post("enrol", **self._enrol)

    def _on_entered(self, reply: Message) -> None:
        # Without a join the run has ended, and `run_end` follows.
        if reply.get("join") is not None:
            self._standing(reply)

    def _on_entry_refused(self, error: LudexError) -> None:
        self._sent = False
        super()._on_entry_refused(error)

    def on_welcome(self, welcome: Message) -> None:
        """Enrol again, since the run may have ended in the meantime."""
        self._sent = False
        super().on_welcome(welcome)

    def _adopt(self, welcome: Message) -> None:
        """Keep the known seats, since ``enrol`` triggers a resync of every running seat."""

    def _on_event_without_match(self, message: Message) -> None:
        if message.get("run") != self._enrol["run"]:
            return
        if message["type"] == "run_end":
            self.over = message
        elif message["type"] == "progress":
            self._standing(message)

    def _standing(self, message: Message) -> None:
        self._on_progress(
            Progress(
                run=str(message["run"]),
                done=message.get("done", 0),
                due=message.get("due", 0),
                eta_ms=message.get("eta_ms"),
                so_far=message.get("verdict_so_far") or {},
            )
        )

    def _on_turn(self, seat: SeatKey, frame: Message) -> None:
        key, fields = self._deferred.pop(seat, ((-1, 0), {}))
        state = self._matches.get(seat)
        if state is not None and key == (frame["turn"], frame.get("try", 0)):
            state.requested = key
            self._act(seat, key, fields)
        super()._on_turn(seat, frame)

    def _on_act_error(
        self, seat: SeatKey, key: Key, fields: dict[str, Any], error: LudexError
    ) -> None:
        if error.code in GONE_CODES:
            del self._matches[seat]
            self._deferred[seat] = (key, fields)
        else:
            super()._on_act_error(seat, key, fields, error)
