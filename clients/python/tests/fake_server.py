"""A fake Ludex server inside the test process, implemented from docs/protocol.md.

It plays one game, `race`: two seats in turn add 1, 2 or 3 (action ids 0, 1, 2) to a total, and the
first to reach 6 wins. `race(coin=1)` begins with a chance node that sets the total to 0 or 1.
`both=1` makes moves simultaneous. With `seats=2`, a client has both seats of its matches. The
server can cut the connection at any message, and collects protocol violations of the client in
`faults`.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import threading
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
from fake_socket import Closed, Line

GOAL, ACTIONS, PLAYERS = 6, 3, 2
Frame = dict[str, Any]


class Cut(Exception):
    """The connection was cut on purpose."""


class Race:
    def __init__(self, coin: bool = False, both: bool = False) -> None:
        self.total, self.length, self.both, self.coin = 0, 0, both, coin
        self.last = 0
        self.rewards = [0.0, 0.0]

    @property
    def to_move(self) -> int:
        if self.coin:
            return -1
        if self.total >= GOAL:
            return -4
        return -2 if self.both else self.length % 2

    def legal(self, seat: int) -> list[int]:
        if self.to_move not in (seat, -2):
            return []
        return [a for a in range(ACTIONS) if self.total + a + 1 <= GOAL]

    def play(self, actions: list[int]) -> None:
        if self.coin:
            self.total, self.coin = actions[0], False
            return
        seat = self.length % 2
        self.last = seat
        self.total += max(actions) + 1
        self.length += 1
        if self.total >= GOAL:
            self.rewards = [1.0, -1.0] if seat == 0 else [-1.0, 1.0]


def text(action: int) -> str:
    return f"+{action + 1}"


class Seat:
    def __init__(self, seat: int) -> None:
        self.seat = seat
        self.log: list[Frame] = []
        self.resynced = 0  # number of events covered by a resync
        self.turn, self.attempt = -1, 0
        self.waiting: Frame | None = None
        self.answers: dict[tuple[int, int], tuple[Any, Frame]] = {}


class Match:
    def __init__(self, name: str, join: str, seats: list[int]) -> None:
        self.name, self.join = name, join
        self.seats = {seat: Seat(seat) for seat in seats}
        self.game = Race()
        self.over = False


class Session:
    def __init__(self, name: str, key: str, agent: str) -> None:
        self.name, self.agent = name, agent
        # Every welcome has a new key; the old one stays valid until the next message.
        self.keys = [key]
        self.quiet = threading.Event()
        self.replies: dict[int, Frame] = {}
        self.envs: dict[int, Frame] = {}
        self.matches: dict[str, Match] = {}
        self.join = ""
        self.left = 0
        self.last_id = 0

    @property
    def seats(self) -> list[tuple[Match, Seat]]:
        return [(match, seat) for match in self.matches.values() for seat in match.seats.values()]


class FakeServer:
    """`cut_at` counts received messages (cut before reading) and sent ones (before and after)."""

    def __init__(
        self,
        *,
        cut_at: int | None = None,
        refuse: bool = False,
        resync: bool = False,
        forget: bool = False,
        seats: int = 1,
        respond: Callable[[Frame], Frame | None] | None = None,
    ) -> None:
        self.cut_at, self.refuse, self.resync, self.forget = cut_at, refuse, resync, forget
        self.respond, self.seats = respond, seats
        self.points = itertools.count()
        self.faults: list[str] = []
        self.received: list[Frame] = []
        self.cuts = 0
        self.connections = 0
        self.executed: list[str] = []
        self._numbers = itertools.count(1)
        self._sessions: dict[str, Session] = {}
        # Events without a match, sent after the next reply.
        self.later: list[Frame] = []
        # Resyncs of matches of earlier joins, sent after the next welcome.
        self.earlier: list[Frame] = []
        self._random = random.Random(1)
        self._live: list[Line] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop at once, as in a crash."""
        # Only shutdown wakes a thread blocked in accept or recv.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        for line in self._live:
            with contextlib.suppress(OSError):
                line.cut()
        for thread in self._threads:
            thread.join()

    def _listen(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=[Line(sock)]))
            self._threads[-1].start()

    # Sending, receiving and cutting.

    def _point(self, ws: Line) -> None:
        if next(self.points) == self.cut_at:
            self.drop(ws)
            raise Cut

    def drop(self, ws: Line | None = None) -> None:
        """Cut a connection (by default the last), as in a network failure."""
        self.cuts += 1
        (ws or self._live[-1]).cut()

    def _send(self, ws: Line, frame: Frame) -> None:
        self._point(ws)
        ws.send(msgpack.packb({**frame, "unknown_field": [1]}))
        self._point(ws)

    def _serve(self, ws: Line) -> None:
        self.connections += 1
        self._live.append(ws)
        mine: list[Session] = []
        try:
            self._talk(ws, mine)
        except (Closed, OSError, Cut):
            pass
        except Exception as error:
            self.faults.append(f"fake server: {error!r}")
            raise
        finally:
            for session in mine:
                session.quiet.set()
            ws.sock.close()

    def _talk(self, ws: Line, mine: list[Session]) -> None:
        session: Session | None = None
        while True:
            data = ws.recv()
            self._point(ws)
            frame = msgpack.unpackb(data)
            self.received.append(frame)
            if session is None:
                session = self._hello(ws, frame, mine)
                continue
            session.keys = session.keys[-1:]
            if frame.get("id") in session.replies:
                self._send(ws, session.replies[frame["id"]])
                continue
            answer = self.respond(frame) if self.respond else None
            if answer is not None:
                self._send(ws, {"re": frame["id"], **answer})
                continue
            if frame["id"] <= session.last_id:
                self.faults.append(f"id {frame['id']} does not increase")
            session.last_id = frame["id"]
            self.executed.append(frame["type"])
            before = {(match.name, seat.seat): len(seat.log) for match, seat in session.seats}
            reply = {"re": frame["id"], **getattr(self, f"_on_{frame['type']}")(session, frame)}
            session.replies[frame["id"]] = reply
            self._send(ws, reply)
            for match, seat in session.seats:
                sent = before.get((match.name, seat.seat), 0)
                for event in seat.log[max(sent, seat.resynced) :]:
                    self._send(ws, event)
            later, self.later = self.later, []
            for event in later:
                self._send(ws, event)

    def _hello(self, ws: Line, frame: Frame, mine: list[Session]) -> Session:
        if frame["type"] != "hello" or frame["protocol"] != [1]:
            self.faults.append("hello must be first")
        if frame.get("token") == "wrong":
            ws.send(
                msgpack.packb(
                    {
                        "type": "error",
                        "re": frame["id"],
                        "code": "unauthorized",
                        "message": "no such token",
                        "fault": "client",
                        "retry": False,
                    }
                )
            )
            ws.close(4001, "unauthorized")
            raise Cut
        resume = frame.get("resume")
        agent = (frame.get("agent") or {}).get("name", "")
        number = next(self._numbers)
        session = Session(f"s_{number}", f"k_{number}", agent)
        resumed = False
        if resume:
            old = self._sessions.get(resume["session"])
            if old is not None:
                old.quiet.wait()
            if old is None or resume["key"] not in old.keys:
                self.faults.append(f"resume of an unknown session {resume['session']}")
            elif self.forget:
                if frame.get("reclaim"):
                    session.matches, session.left = old.matches, old.left
                    session.join = old.join
            else:
                session, resumed = old, True
                session.keys.append(f"k_{number}")
        elif frame.get("reclaim"):
            for old in self._sessions.values():
                if old.agent == agent:
                    old.quiet.wait()
                    session.matches, session.left = old.matches, old.left
                    session.join = old.join
        session.quiet.clear()
        mine.append(session)
        self._sessions[session.name] = session
        held = [(match, seat) for match, seat in session.seats if not match.over]
        welcome = {
            "type": "welcome",
            "re": frame["id"],
            "protocol": 1,
            "server": "fake/1",
            "session": session.name,
            "key": session.keys[-1],
            "resumed": resumed,
            "scopes": ["gym", "play"],
            "agent": agent,
            "limits": {"grace_ms": 5000, "batch": 64},
            "envs": list(session.envs),
            "matches": [
                {"match": match.name, "seat": seat.seat, "seq": len(seat.log) - 1}
                for match, seat in held
            ],
            "joins": [{"join": session.join, "game": "race", "left": session.left}] if held else [],
        }
        self._send(ws, welcome)
        earlier, self.earlier = self.earlier, []
        for resync in earlier:
            self._send(ws, resync)
        seen = (resume or {}).get("seen", {})
        for match, seat in session.seats:
            last = seen.get(match.name, {})
            if isinstance(last, int):
                # A number is that of the only seat.
                last = {str(seat.seat): last} if len(match.seats) == 1 else {}
            self._catch_up(ws, match, seat, last.get(str(seat.seat), -1), whole=not resumed)
        return session

    def _catch_up(self, ws: Line, match: Match, seat: Seat, seen: int, *, whole: bool) -> None:
        if (self.resync or whole) and (not match.over or seen < len(seat.log) - 1):
            self._send(ws, self.resync_of(match, seat))
            return
        for event in seat.log[seen + 1 :]:
            self._send(ws, event)
        if seat.waiting and seat.waiting["seq"] <= seen:
            self._send(ws, seat.waiting)

    def resync_of(self, match: Match, seat: Seat) -> Frame:
        frame: Frame = {
            "type": "resync",
            "match": match.name,
            "seat": seat.seat,
            "seq": len(seat.log) - 1,
            "start": seat.log[0],
            "events": [e for e in seat.log if e["type"] == "event"],
        }
        if match.over:
            frame["end"] = seat.log[-1]
        elif seat.waiting:
            frame["turn"] = {**seat.waiting, "try": seat.attempt}
        return frame

    # Gym plane.

    def spec(self, params: Frame) -> Frame:
        both = bool(params.get("both"))
        return {
            "game": "race",
            "string": "race",
            "params": params,
            "rules": 1,
            "hash": "ab",
            "players": PLAYERS,
            "seats": ["a", "b"],
            "actions": ACTIONS,
            "max_chance": 2,
            "dynamics": "mixed" if both else "sequential",
            "legal": "ids",
        }

    def _on_list_games(self, session: Session, frame: Frame) -> Frame:
        return {"type": "games", "games": [{"game": "race", "title": "Race", "rules": 1}]}

    def _on_ping(self, session: Session, frame: Frame) -> Frame:
        return {"type": "pong", "now_ms": 1}

    def _on_describe(self, session: Session, frame: Frame) -> Frame:
        if frame["game"] != "race":
            return error(
                "unknown_game",
                f"no game {frame['game']}",
                path="game",
                got=frame["game"],
                allowed=["race"],
                nearest="race",
            )
        return {"type": "spec", "spec": self.spec(frame.get("params") or {})}

    def _on_open(self, session: Session, frame: Frame) -> Frame:
        env = next(self._numbers)
        params = frame.get("params") or {}
        session.envs[env] = {**frame, "params": params, "games": [], "episode": 0}
        return {
            "type": "opened",
            "env": env,
            "count": frame.get("count", 1),
            "spec": self.spec(params),
        }

    def _new(self, params: Frame) -> Race:
        return Race(bool(params.get("coin")), bool(params.get("both")))

    def _on_reset(self, session: Session, frame: Frame) -> Frame:
        env = session.envs[frame["env"]]
        env["games"] = [self._new(env["params"]) for _ in range(env.get("count", 1))]
        return self._batch(env, frame["env"])

    def _on_step(self, session: Session, frame: Frame) -> Frame:
        env = session.envs[frame["env"]]
        games: list[Race] = env["games"]
        columns = PLAYERS if env["params"].get("both") else 1
        if "moves" in frame:
            flat = [
                -1 if m is None else int(m[1:]) - 1 if isinstance(m, str) else m
                for m in frame["moves"]
            ]
        else:
            flat = np.frombuffer(frame["actions"], "<i4").tolist()
        if len(flat) != len(games) * columns:
            return error("bad_shape", "wrong number of actions", path="actions")
        for index, game in enumerate(games):
            move = flat[index * columns : (index + 1) * columns]
            if max(move) >= ACTIONS:
                return error(
                    "illegal_action",
                    "no such action",
                    path="actions",
                    index=index * columns,
                    got=max(move),
                    allowed=game.legal(0),
                )
        ended = []
        for index, game in enumerate(games):
            game.play(flat[index * columns : (index + 1) * columns])
            if game.to_move == -4 and env["autoreset"] == "same_step":
                ended.append((index, game))
        batch = self._batch(env, frame["env"])
        if ended:
            for index, _ in ended:
                games[index] = self._new(env["params"])
            flags = {key: batch[key] for key in ("reward", "terminated", "truncated")}
            batch = self._batch(env, frame["env"]) | flags
            batch["final"] = {
                "at": np.array([i for i, _ in ended], "<u4").tobytes(),
                "obs": {"state": obs([g for _, g in ended])},
                "returns": np.array([g.rewards for _, g in ended], "<f8").tobytes(),
                "length": np.array([g.length for _, g in ended], "<u4").tobytes(),
            }
        return batch

    def _batch(self, env: Frame, number: int) -> Frame:
        games: list[Race] = env["games"]
        to_move = np.array([game.to_move for game in games], "i1")
        every = env.get("observer") == "all"
        rows = [
            game.legal(seat)
            for game in games
            for seat in (range(PLAYERS) if every else [max(game.to_move, 0)])
        ]
        batch: Frame = {
            "type": "batch",
            "env": number,
            "to_move": to_move.tobytes(),
            "reward": np.array([game.rewards for game in games], "<f4").tobytes(),
            "terminated": (to_move == -4).astype("u1").tobytes(),
            "truncated": bytes(len(games)),
            "length": np.array([game.length for game in games], "<u4").tobytes(),
            "episode": bytes(4 * len(games)),
        }
        views = env.get("views") or ["tensor"]
        if "tensor" in views:
            batch["obs"] = {"state": obs(games)}
        if "returns" in views:
            batch["returns"] = np.array([game.rewards for game in games], "<f8").tobytes()
        if env.get("mask") == "ids":
            batch["mask"] = ragged(rows)
        elif env.get("mask") != "none":
            dense = np.zeros((len(rows), ACTIONS), "u1")
            for row, legal in zip(dense, rows, strict=True):
                row[legal] = 1
            if env.get("mask") == "bits":
                dense = np.packbits(dense, axis=1, bitorder="little")
            batch["mask"] = dense.tobytes()
        if env.get("chance") == "client":
            at_chance = [[0, 1] if game.to_move == -1 else [] for game in games]
            count = sum(map(len, at_chance))
            batch["chance"] = {**ragged(at_chance), "p": np.full(count, 0.5, "<f8").tobytes()}
        return batch

    def _on_view(self, session: Session, frame: Frame) -> Frame:
        game: Race = session.envs[frame["env"]]["games"][frame.get("i", 0)]
        reply: Frame = {"type": "viewed"}
        if "names" in frame:
            reply["names"] = [text(action) for action in frame["names"]]
        if "parse" in frame:
            reply["parsed"] = [int(t[1:]) - 1 if t[:1] == "+" else None for t in frame["parse"]]
        values = {
            "text": f"total {game.total}",
            "struct": {"total": game.total},
            "picture": {"svg": f"<svg>{game.total}</svg>", "gestures": {"1": ["a", "b"]}},
            "tensor": {"state": {**obs([game]), "s": [2]}},
        }
        return reply | {name: values[name] for name in frame["views"]}

    def _on_clone(self, session: Session, frame: Frame) -> Frame:
        env = session.envs[frame["env"]]
        number = next(self._numbers)
        session.envs[number] = {**env, "games": [copy(game) for game in env["games"]]}
        return {
            "type": "opened",
            "env": number,
            "count": len(env["games"]),
            "spec": self.spec(env["params"]),
        }

    def _on_snapshot(self, session: Session, frame: Frame) -> Frame:
        games: list[Race] = session.envs[frame["env"]]["games"]
        return {
            "type": "snapshots",
            "hash": "ab",
            "items": [msgpack.packb([game.total, game.length]) for game in games],
        }

    def _on_restore(self, session: Session, frame: Frame) -> Frame:
        env = session.envs[frame["env"]]
        for game, item in zip(env["games"], frame["items"], strict=True):
            game.total, game.length = msgpack.unpackb(item)
        return self._batch(env, frame["env"])

    def _on_close(self, session: Session, frame: Frame) -> Frame:
        del session.envs[frame["env"]]
        return {"type": "ok"}

    # Match plane.

    def _on_join(self, session: Session, frame: Frame) -> Frame:
        session.left = frame["count"] or 1_000
        session.join = f"j_{next(self._numbers)}"
        for _ in range(frame.get("slots", 1)):
            self._start(session)
        return {"type": "joined", "join": session.join}

    def _start(self, session: Session) -> None:
        if not session.left:
            return
        session.left -= 1
        number = next(self._numbers)
        match = Match(f"m_{number}", session.join, [0, 1] if self.seats == 2 else [number % 2])
        session.matches[match.name] = match
        for seat in match.seats.values():
            self._log(
                match,
                seat,
                type="match_start",
                join=match.join,
                game="race",
                params={},
                rules=1,
                hash="ab",
                seat=seat.seat,
                rated=False,
                clock={"move_ms": 10000},
                seats=[{"name": "a", "kind": "bot"}, {"name": "b", "kind": "bot"}],
                illegal={"policy": "forfeit", "tries": 3},
                skip_forced=False,
                seed_commit="00",
            )
        self._go_on(session, match)

    def _log(self, match: Match, viewer: Seat, /, **event: Any) -> Frame:
        frame = {"seq": len(viewer.log), "match": match.name, **event}
        viewer.log.append(frame)
        return frame

    def _go_on(self, session: Session, match: Match) -> None:
        game = match.game
        while game.to_move in (0, 1) and game.to_move not in match.seats:
            self._move(match, game.to_move, self._random.choice(game.legal(game.to_move)))
        if game.to_move == -4:
            match.over = True
            won = [value > 0 for value in game.rewards]
            for seat in match.seats.values():
                seat.waiting = None
                self._log(
                    match,
                    seat,
                    type="match_end",
                    seat=seat.seat,
                    returns=game.rewards,
                    reason="finished",
                    outcome=["win" if w else "loss" for w in won],
                    rated=False,
                    record=f"/episodes/{match.name}",
                )
            self._start(session)
            return
        seat = match.seats[game.to_move]
        seat.turn, seat.attempt = seat.turn + 1, 0
        legal = game.legal(seat.seat)
        seat.waiting = self._log(
            match,
            seat,
            type="turn",
            seat=seat.seat,
            turn=seat.turn,
            legal=legal,
            budget_ms=10000,
            bank_ms=[0, 0],
            names=[text(action) for action in legal],
            view={"struct": {"total": game.total}},
            **{"try": 0},
        )

    def _move(self, match: Match, seat: int, action: int) -> None:
        match.game.play([action])
        move = {"kind": "move", "seat": seat, "action": action, "text": text(action), "ms": 0}
        for viewer in match.seats.values():
            self._log(match, viewer, type="event", viewer=viewer.seat, **move)

    def _on_act(self, session: Session, frame: Frame) -> Frame:
        match = session.matches.get(frame["match"])
        if match is None:
            return error("unknown_match", "no such match")
        if frame.get("seat") not in match.seats:
            self.faults.append(f"act without a seat of {match.name}: {frame}")
            return error("not_your_seat", "another seat", path="seat")
        seat = match.seats[frame["seat"]]
        key = (frame["turn"], frame.get("try", 0))
        move = {name: frame[name] for name in ("action", "text", "document") if name in frame}
        if key in seat.answers:
            before, answer = seat.answers[key]
            if before == move:
                return answer
            self.faults.append(f"two acts for {key} of {match.name}")
            return error("conflict", "another move was made")
        if key[0] < seat.turn or match.over:
            self.faults.append(f"stale act {key} of {match.name}")
            return error("stale_turn", "too late")
        if key != (seat.turn, seat.attempt):
            self.faults.append(f"act {key} too early for {match.name}")
            return error("not_your_turn", "too early")
        action = frame["action"] if "action" in frame else int(frame["text"][1:]) - 1
        legal = match.game.legal(seat.seat)
        if action not in legal or (self.refuse and seat.attempt == 0):
            seat.attempt += 1
            answer = {
                "type": "refused",
                "match": match.name,
                "seat": seat.seat,
                "turn": key[0],
                "try": seat.attempt,
                "code": "illegal_action",
                "message": "not this one",
                "tries_left": 3 - seat.attempt,
                "legal": legal,
            }
        else:
            answer = {
                "type": "accepted",
                "match": match.name,
                "seat": seat.seat,
                "turn": key[0],
                "action": action,
                "text": text(action),
                "bank_ms": 0,
            }
            seat.waiting = None
            self._move(match, seat.seat, action)
            self._go_on(session, match)
        seat.answers[key] = (move, answer)
        return answer


def error(code: str, message: str, **fields: Any) -> Frame:
    return {
        "type": "error",
        "code": code,
        "message": message,
        "fault": "client",
        "retry": False,
        **fields,
    }


def obs(games: list[Race]) -> Frame:
    values = np.array([[game.total, game.length] for game in games], "u1")
    return {"d": "u1", "s": list(values.shape), "b": values.tobytes()}


def ragged(rows: list[list[int]]) -> Frame:
    offsets = np.cumsum([0, *(len(row) for row in rows)]).astype("<u4")
    values = np.array([value for row in rows for value in row], "<u4")
    return {"o": offsets.tobytes(), "a": values.tobytes()}


def copy(game: Race) -> Race:
    twin = Race(game.coin, game.both)
    twin.total, twin.length, twin.rewards = game.total, game.length, list(game.rewards)
    return twin
