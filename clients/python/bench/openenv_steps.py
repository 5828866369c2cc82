"""Measure the steps per second of OpenEnv on a server and of the environment of ``openenv init``.

    python bench/openenv_steps.py [--game tic_tac_toe] [--sessions 1 32] [--seconds 3] [--rounds 5]

Needs the package ``openenv``. Both servers run in turn in each round, and one client for both, on
raw sockets, plays the first legal move in all sessions at once. The environment that ``openenv
init`` writes allows one session; for more, the script raises its ``max_concurrent_envs``. It echoes
a text, while a game's step moves an agent of the server and renders the next prompt. The medians
of the rates and of their quotients are printed.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import platform
import re
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ludex

RESET = b'{"type":"reset","data":{"seed":1}}'
ECHO = b'{"type":"step","data":{"message":"x(1,1)"}}'


def frame(text: bytes) -> bytes:
    """Return a masked text frame; with a mask of zeros, the payload stays as it is."""
    head = (
        bytes([0x81, 0x80 | len(text)])
        if len(text) < 126
        else b"\x81\xfe" + len(text).to_bytes(2, "big")
    )
    return head + bytes(4) + text


class Session:
    """A session on a raw WebSocket."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        head = (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        )
        self.socket.sendall(head.encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.read()
        head_read, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        assert b" 101 " in head_read, head_read

    def read(self) -> None:
        data = self.socket.recv(1 << 16)
        assert data, "the server closed the connection"
        self.buffer += data

    def message(self) -> bytes | None:
        """Return the next text message, if it is complete."""
        while len(self.buffer) >= 2:
            size, start = self.buffer[1], 2
            if size >= 126:
                start = 4 if size == 126 else 10
                size = int.from_bytes(self.buffer[2:start], "big")
            if len(self.buffer) < start + size:
                return None
            kind, text = self.buffer[0] & 15, self.buffer[start : start + size]
            self.buffer = self.buffer[start + size :]
            if kind == 1:
                return text
        return None


def game_move(reply: bytes) -> bytes:
    """Return the message that plays the first legal move, or that starts the next episode."""
    start = reply.find(b'"legal":["')
    if start < 0:
        assert b'"type":"observation"' in reply, reply
        return RESET
    move = reply[start + 10 : reply.index(b'"', start + 10)]
    return b'{"type":"step","data":{"answer":"' + move + b'"}}'


def echo_move(reply: bytes) -> bytes:
    """Return the message that steps the environment of ``openenv init``."""
    assert b'"type":"observation"' in reply, reply
    return ECHO


@dataclass
class Target:
    """A server to measure."""

    name: str
    port: int
    path: str
    move: Callable[[bytes], bytes]

    def rate(self, sessions: int, seconds: float) -> float:
        """Return the steps per second of this many sessions at once."""
        selector = selectors.DefaultSelector()
        players = [Session(self.port, self.path) for _ in range(sessions)]
        for player in players:
            player.socket.sendall(frame(RESET))
            selector.register(player.socket, selectors.EVENT_READ, player)
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for key, _ in selector.select():
                player = key.data
                player.read()
                reply = player.message()
                if reply is not None:
                    message = self.move(reply)
                    steps += message is not RESET
                    player.socket.sendall(frame(message))
        rate = steps / (time.perf_counter() - start)
        for player in players:
            player.socket.close()
        selector.close()
        return rate


def written_by_init(folder: str, sessions: int) -> Path:
    """Run ``openenv init`` and allow this many sessions."""
    command = [sys.executable, "-m", "openenv.cli", "init", "echo_env", "--output-dir", folder]
    subprocess.run(command, check=True, capture_output=True)
    app = Path(folder) / "echo_env" / "server" / "app.py"
    text, count = re.subn(
        r"max_concurrent_envs=\d+", f"max_concurrent_envs={sessions}", app.read_text()
    )
    assert count == 1
    app.write_text(text)
    return app.parent.parent


def wait_until_healthy(port: int) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1) as reply:
                if json.load(reply)["status"] == "healthy":
                    return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the environment of openenv init does not start")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="tic_tac_toe")
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder, ludex.serve() as server:
        package, port = written_by_init(folder, 2 * max(args.sessions)), free_port()
        command = [sys.executable, "-m", "uvicorn", "server.app:app", "--port", str(port)]
        with subprocess.Popen([*command, "--log-level", "warning"], cwd=package) as other:
            try:
                wait_until_healthy(port)
                own = int(server.url.rsplit(":", 1)[1])
                targets = [
                    Target("ludex", own, f"/openenv/{args.game}/ws", game_move),
                    Target("openenv init", port, "/ws", echo_move),
                ]
                for sessions in args.sessions:
                    measure(targets, sessions, args.seconds, args.rounds)
            finally:
                other.terminate()


def measure(targets: list[Target], sessions: int, seconds: float, rounds: int) -> None:
    """Measure the targets in turn, and print the medians."""
    rates: list[list[float]] = [[] for _ in targets]
    for _ in range(rounds):
        for target, rate in zip(targets, rates, strict=True):
            rate.append(target.rate(sessions, seconds))
    quotient = statistics.median(own / other for own, other in zip(*rates, strict=True))
    shown = ", ".join(
        f"{target.name} {statistics.median(rate):,.0f}"
        for target, rate in zip(targets, rates, strict=True)
    )
    print(f"{sessions} sessions, steps per second: {shown}; quotient {quotient:.1f}")


if __name__ == "__main__":
    main()
