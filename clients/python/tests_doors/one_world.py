"""The same matches of one model through each door: prompts, answers, moves and results.

The reference is ``ludex evaluate``. Its model is a stub whose answer depends on the last message
alone, since requests of the doors differ in other fields. A door plays the seeds and seats of the
reference with the same stub. The records of its episodes come from the store of the server.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import ludex

GAME = "tic_tac_toe"
OPPONENT = "anchor level=1"
# In this form an endpoint gets no schema, so each door sends the messages alone.
SETTINGS = {"format": "text"}
SUITE = f"""
name = "world"
version = 1
title = "One world"
about = "Matches of one model."

# Environments ask for forced moves too.
[policy]
skip_forced = false

[[part]]
id = "{GAME}"
game = "{GAME}"
schedule = "against"
opponents = ["{OPPONENT}"]
blocks = 2
"""


@dataclass(frozen=True)
class Match:
    """A match as its model saw it.

    Attributes:
        prompts: the text of the system message and of each request.
        answers: the answers of the model.
        result: the return of the model.
    """

    seed: int
    seat: int
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    result: float


@dataclass(frozen=True)
class World:
    """Matches, and the moves of their records by seed and seat."""

    matches: list[Match]
    moves: dict[tuple[int, int], list[dict[str, Any]]]


def match_of(seed: int, seat: int, messages: list[dict[str, str]], result: float) -> Match:
    """Return a match from its conversation."""
    prompts = tuple(m["content"] for m in messages if m["role"] in ("system", "user"))
    answers = tuple(m["content"] for m in messages if m["role"] == "assistant")
    return Match(seed, seat, prompts, answers, result)


def answer_of(request: str) -> str:
    """Return the answer of the stub: a legal move, or sometimes none."""
    legal = request.partition("Legal moves:\n")[2].partition("\n\n")[0].splitlines()
    draw = int.from_bytes(hashlib.sha256(request.encode()).digest()[:8], "big")
    if draw % 4 == 0:
        return "I would rather not say."
    return f"I thought about it.\nAnswer: {legal[draw % len(legal)]}"


class _Stub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": answer_of(body["messages"][-1]["content"])}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "stub", "object": "chat.completion", "created": 0, "model": body["model"]}
        data = json.dumps({**reply, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def running_model() -> Iterator[str]:
    """Start the stub; yield the base URL of its endpoint."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Stub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def reference(program: str, endpoint: str, folder: Path) -> World:
    """Play the matches with ``ludex evaluate``."""
    folder.mkdir(parents=True, exist_ok=True)
    suite = folder / "world.toml"
    suite.write_text(SUITE)
    agent = f"llm model=stub base_url={endpoint} prompting=chat format=text"
    command = [program, "evaluate", "--suite", str(suite), "--run", "world", "--agent", agent]
    subprocess.run([*command, "--data", str(folder), "--json"], check=True, capture_output=True)
    run = ludex.read_run("world", data=folder)
    records = {record["episode"]: record for record in run.rows("episodes")}
    matches, moves = [], {}
    for row in run.rows("matches"):
        if row["candidate"]:
            record = records[row["episode"]]
            calls = [call for call in run.rows("calls") if call["episode"] == row["episode"]]
            last = {"role": "assistant", "content": calls[-1]["answer"]}
            talk = [*json.loads(calls[-1]["messages"]), last]
            seed, seat = int(record["seed"]), row["seat"]
            matches.append(match_of(seed, seat, talk, row["return"]))
            moves[seed, seat] = moves_of(record)
    return World(matches, moves)


def moves_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a record without notes and times."""
    kept = ("kind", "seat", "turn", "action", "document")
    return [{key: event[key] for key in kept if key in event} for event in record["events"]]


@contextmanager
def recording_server(folder: Path) -> Iterator[str]:
    """Start a server whose store is in the folder; yield its URL."""
    with ludex.serve(folder) as server:
        yield server.url


def recorded_moves(program: str, folder: Path) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the moves of the episodes in the store, by seed and seat of the client."""
    command = [program, "export", "--data", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = {}
    for record in map(json.loads, done.stdout.splitlines()):
        seat = next(at for at, one in enumerate(record["seats"]) if one.get("spec") != OPPONENT)
        found[int(record["seed"]), seat] = moves_of(record)
    return found
