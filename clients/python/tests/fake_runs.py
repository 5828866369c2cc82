"""A fake server with runs (docs/runs.md) and one suite of matches of `race`."""

from __future__ import annotations

from typing import Any

from fake_server import FakeServer, Frame, Match, Session, error

SETTINGS = ("suite", "scale", "only", "candidates")


class Run:
    def __init__(self, settings: Frame, agent: str, due: int) -> None:
        self.settings, self.agent = settings, agent
        self.due, self.done = due, 0
        self.begun: list[Match] = []
        self.end: Frame | None = None


class RunServer(FakeServer):
    """A fake server whose new sessions have no matches until they enrol."""

    def __init__(self, *, matches: int = 3, **options: Any) -> None:
        self.matches = matches
        self.runs: dict[str, Run] = {}
        super().__init__(**options)

    def __enter__(self) -> RunServer:
        return self

    def _hello(self, ws: Any, frame: Frame, mine: list[Session]) -> Session:
        # `reclaim` alone does not return seats of runs to a new session.
        return super()._hello(ws, {**frame, "reclaim": False}, mine)

    def _on_suites(self, session: Session, frame: Frame) -> Frame:
        part = {"part": "race", "game": "race", "matches": self.matches, "candidates": 1}
        suite = {"suite": "quick", "version": 1, "digest": "ab", "title": "Quick"}
        return {"type": "suites", "suites": [{**suite, "matches": self.matches, "parts": [part]}]}

    def _on_enrol(self, session: Session, frame: Frame) -> Frame:
        if frame.get("suite", "") not in ("", "quick"):
            allowed = ["quick"]
            return error("unknown_suite", "no such suite", path="suite", allowed=allowed)
        settings = {name: frame.get(name) for name in SETTINGS}
        name = frame["run"]
        run = self.runs.get(name)
        if run is None:
            run = self.runs[name] = Run(settings, session.agent, self.matches)
        for key in SETTINGS if "suite" in frame else ():
            if run.settings[key] != settings[key]:
                was = run.settings[key]
                return error("conflict", f"another {key}", path=key, allowed=was)
        if run.agent != session.agent:
            return error("forbidden", "the run belongs to another agent", path="run")
        enrolled = {"type": "enrolled", "run": name, "due": run.due, "done": run.done}
        if run.end is not None:
            self.later.append(run.end)
            return enrolled
        going = [match for match in run.begun if not match.over]
        for match in going:
            if match.name not in session.matches:
                session.matches[match.name] = match
                for seat in match.seats.values():
                    seat.resynced = len(seat.log)
                    self.later.append(self.resync_of(match, seat))
        session.join = "j_1"
        session.left = run.due - len(going)
        for _ in range(min(frame["slots"] - len(going), session.left)):
            self._start(session)
        return {**enrolled, "join": "j_1"}

    def _start(self, session: Session) -> None:
        name, run = next((n, r) for n, r in self.runs.items() if r.agent == session.agent)
        if run.end is not None:
            self.later.append(run.end)
            return
        over = [match for match in run.begun if match.over]
        while run.done < len(over):
            run.done, run.due = run.done + 1, run.due - 1
            so_far = {"race": {"wins": run.done, "draws": 0, "losses": 0}}
            standing = {"run": name, "done": run.done, "due": run.due}
            self.later.append({"type": "progress", **standing, "verdict_so_far": so_far})
        if not run.due:
            self._end(name, run, "done")
            return
        super()._start(session)
        for match in session.matches.values():
            if match not in run.begun:
                run.begun.append(match)

    def _end(self, name: str, run: Run, reason: str) -> None:
        part: Frame = {"part": "race", "game": "race", "agent": run.agent, "against": []}
        part |= {"wins": run.done, "draws": 0, "losses": 0, "rating": None}
        part |= {"score": {"value": 1.0, "low": 0.4, "high": 1.0}}
        run.end = {"type": "run_end", "run": name, "reason": reason, "ratings": []}
        run.end |= {"verdict": {"parts": [part], "groups": []}, "report": f"/runs/{name}/r.html"}
        self.later.append(run.end)

    def _on_withdraw(self, session: Session, frame: Frame) -> Frame:
        run = self.runs.get(frame["run"])
        if run is None or run.agent != session.agent or run.end is not None:
            return error("unknown_run", "no such run", path="run")
        self._end(frame["run"], run, "withdrawn")
        return {"type": "ok"}
